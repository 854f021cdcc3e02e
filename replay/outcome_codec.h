// A run's outcome as bytes, for the way from a worker to its parent. Both are
// the same process image, so the form needs neither version nor portability;
// a damaged one is refused all the same.
#ifndef MUSTH_REPLAY_OUTCOME_CODEC_H_
#define MUSTH_REPLAY_OUTCOME_CODEC_H_

#include <string>
#include <string_view>

#include "properties/run.h"
#include "sim/env/status.h"

namespace replay {

std::string EncodeOutcome(const env::Result<properties::RunOutcome>& outcome);

// The outcome, or the error that stood in its place.
// Errors: also kCorrupted if the bytes are no outcome.
env::Result<properties::RunOutcome> DecodeOutcome(std::string_view bytes);

}  // namespace replay

#endif  // MUSTH_REPLAY_OUTCOME_CODEC_H_

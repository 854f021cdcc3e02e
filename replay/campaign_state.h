// CampaignState: how far a campaign has come, as a file from which it goes on.
#ifndef MUSTH_REPLAY_CAMPAIGN_STATE_H_
#define MUSTH_REPLAY_CAMPAIGN_STATE_H_

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "replay/incident.h"
#include "replay/summary.h"
#include "sim/env/status.h"

namespace replay {

// Numbers that come nearly in ascending order.
class NumberSet {
 public:
  NumberSet() = default;
  // All below, and these.
  NumberSet(uint64_t below, std::set<uint64_t> others);

  void Add(uint64_t number);
  bool Has(uint64_t number) const {
    return number < below_ || others_.count(number) > 0;
  }
  uint64_t below() const { return below_; }
  const std::set<uint64_t>& others() const { return others_; }

 private:
  void Settle();

  uint64_t below_ = 0;  // all below are in the set
  std::set<uint64_t> others_;
};

struct CampaignState {
  Summary summary;  // of the seeds that are done; with one part
  // Indexes in the order of the seeds, whichever way they are run.
  NumberSet done;
  std::vector<Incident> incidents;
};

std::string FormatState(const CampaignState& state);

// file is for messages. Errors: kInvalid, "file: " and what was expected.
env::Result<CampaignState> ParseState(std::string_view text,
                                      std::string_view file);

// Whether a campaign of this build and part may go on from the state. Errors:
// kInvalid: what differs.
env::Status CheckSameCampaign(const CampaignState& state,
                              const std::string& build, const SeedPart& part);

}  // namespace replay

#endif  // MUSTH_REPLAY_CAMPAIGN_STATE_H_

// Commit and abort records: their bytes, built and parsed.
//
//   xact_time                                 always
//   xinfo                                     if info has XLOG_XACT_HAS_INFO
//   nrels, RelFileNode[nrels]                 if xinfo has HAS_RELFILENODES
//
// Source: src/include/access/xact.h, src/backend/access/rmgrdesc/xactdesc.c.
#ifndef MUSTH_ENGINE_TXN_XACT_XLOG_H_
#define MUSTH_ENGINE_TXN_XACT_XLOG_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/common/types.h"

namespace engine {

inline constexpr uint8_t XLOG_XACT_COMMIT = 0x00;
inline constexpr uint8_t XLOG_XACT_ABORT = 0x20;
inline constexpr uint8_t XLOG_XACT_OPMASK = 0x70;
inline constexpr uint8_t XLOG_XACT_HAS_INFO = 0x80;

inline constexpr uint32_t XACT_XINFO_HAS_RELFILENODES = 1u << 2;

// A commit or abort record taken apart.
struct ParsedXact {
  TimestampTz xact_time = 0;
  std::vector<RelFileNode> dropped;
};

// The record's main data, and in *info the bits for its header.
std::string BuildXactRecord(uint8_t op, TimestampTz xact_time,
                            std::span<const RelFileNode> dropped,
                            uint8_t* info);
// Errors: kCorrupted if the lengths do not fit or xinfo names parts that are
// never written.
Result<ParsedXact> ParseXactRecord(uint8_t info, std::string_view data);

}  // namespace engine

#endif  // MUSTH_ENGINE_TXN_XACT_XLOG_H_

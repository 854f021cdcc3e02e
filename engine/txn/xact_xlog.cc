#include "engine/txn/xact_xlog.h"

#include <cstring>

#include "engine/wal/xloginsert.h"

namespace engine {
namespace {

template <typename T>
void Append(std::string* out, const T& value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Takes a T off the front of *data.
template <typename T>
bool Take(std::string_view* data, T* value) {
  if (data->size() < sizeof(T)) return false;
  std::memcpy(value, data->data(), sizeof(T));
  data->remove_prefix(sizeof(T));
  return true;
}

Status BadRecord(const char* why) {
  return Status(env::Code::kCorrupted,
                std::string("invalid transaction record: ") + why);
}

}  // namespace

std::string BuildXactRecord(uint8_t op, TimestampTz xact_time,
                            std::span<const RelFileNode> dropped,
                            uint8_t* info) {
  std::string data;
  *info = op;
  Append(&data, xact_time);
  if (dropped.empty()) return data;
  *info |= XLOG_XACT_HAS_INFO | XLR_SPECIAL_REL_UPDATE;
  Append(&data, XACT_XINFO_HAS_RELFILENODES);
  Append(&data, static_cast<int32_t>(dropped.size()));
  for (const RelFileNode& rnode : dropped) Append(&data, rnode);
  return data;
}

Result<ParsedXact> ParseXactRecord(uint8_t info, std::string_view data) {
  ParsedXact parsed;
  if (!Take(&data, &parsed.xact_time)) return BadRecord("no time");
  uint32_t xinfo = 0;
  if ((info & XLOG_XACT_HAS_INFO) != 0 && !Take(&data, &xinfo)) {
    return BadRecord("no xinfo");
  }
  if ((xinfo & ~XACT_XINFO_HAS_RELFILENODES) != 0) {
    return BadRecord("unknown xinfo bits");
  }
  if ((xinfo & XACT_XINFO_HAS_RELFILENODES) != 0) {
    int32_t nrels = 0;
    if (!Take(&data, &nrels) || nrels < 0) return BadRecord("no nrels");
    for (int32_t i = 0; i < nrels; ++i) {
      RelFileNode rnode;
      if (!Take(&data, &rnode)) return BadRecord("too few relations");
      parsed.dropped.push_back(rnode);
    }
  }
  if (!data.empty()) return BadRecord("excess bytes");
  return parsed;
}

}  // namespace engine

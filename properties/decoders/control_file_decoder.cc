#include "properties/decoders/control_file_decoder.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "properties/decoders/bytes.h"
#include "properties/decoders/checksums.h"

namespace properties {
namespace {

using env::Code;
using env::Status;

constexpr size_t kFileBytes = 8192;
constexpr size_t kCheckpointOffset = 40;
constexpr size_t kCheckpointBytes = 88;
constexpr size_t kCrcOffset = 288;
constexpr size_t kStructBytes = 292;  // the rest is padding
constexpr uint32_t kVersion = 1300;
constexpr uint32_t kLastState = 6;

Status Corrupted(std::string message) {
  return Status(Code::kCorrupted, std::move(message));
}

}  // namespace

const char* ClusterStateName(ClusterState state) {
  switch (state) {
    case ClusterState::kStartup:
      return "starting up";
    case ClusterState::kShutDown:
      return "shut down";
    case ClusterState::kShutDownInRecovery:
      return "shut down in recovery";
    case ClusterState::kShuttingDown:
      return "shutting down";
    case ClusterState::kInCrashRecovery:
      return "in crash recovery";
    case ClusterState::kInArchiveRecovery:
      return "in archive recovery";
    case ClusterState::kInProduction:
      return "in production";
  }
  return "unknown";
}

env::Result<CheckpointFields> DecodeCheckpoint(std::string_view body) {
  if (body.size() != kCheckpointBytes) {
    return Corrupted(fmt::format("a checkpoint of {} bytes", body.size()));
  }
  CheckpointFields c;
  c.redo = LoadField<uint64_t>(body, 0);
  c.timeline = LoadField<uint32_t>(body, 8);
  c.full_page_writes = LoadField<uint8_t>(body, 16) != 0;
  c.next_xid = LoadField<uint64_t>(body, 24);
  c.next_oid = LoadField<uint32_t>(body, 32);
  c.oldest_xid = LoadField<uint32_t>(body, 44);
  c.oldest_active_xid = LoadField<uint32_t>(body, 80);
  return c;
}

env::Result<ControlFile> DecodeControlFile(std::string_view file) {
  if (file.size() != kFileBytes) {
    return Corrupted(fmt::format("pg_control has {} bytes", file.size()));
  }
  uint32_t stored = LoadField<uint32_t>(file, kCrcOffset);
  uint32_t computed = CrcOf(file.substr(0, kCrcOffset));
  if (stored != computed) {
    return Corrupted(
        fmt::format("pg_control's CRC is {:08x}, its bytes make "
                    "{:08x}",
                    stored, computed));
  }
  if (!AllZero(file.substr(kStructBytes))) {
    return Corrupted("pg_control's padding is not zero");
  }
  uint32_t version = LoadField<uint32_t>(file, 8);
  if (version != kVersion) {
    return Corrupted(fmt::format("pg_control version {}", version));
  }
  ControlFile c;
  c.system_identifier = LoadField<uint64_t>(file, 0);
  uint32_t state = LoadField<uint32_t>(file, 16);
  if (state > kLastState) return Corrupted(fmt::format("state {}", state));
  c.state = static_cast<ClusterState>(state);
  c.checkpoint = LoadField<uint64_t>(file, 32);
  c.checkpoint_bytes = file.substr(kCheckpointOffset, kCheckpointBytes);
  ASSIGN_OR_RETURN(c.checkpoint_copy, DecodeCheckpoint(c.checkpoint_bytes));
  c.wal_segment_bytes = LoadField<uint32_t>(file, 228);
  c.data_checksum_version = LoadField<uint32_t>(file, 252);
  if (LoadField<uint32_t>(file, 216) != kPageBytes ||
      LoadField<uint32_t>(file, 224) != kPageBytes) {
    return Corrupted("block sizes other than 8192");
  }
  if (c.wal_segment_bytes < kPageBytes ||
      (c.wal_segment_bytes & (c.wal_segment_bytes - 1)) != 0) {
    return Corrupted(fmt::format("segment size {}", c.wal_segment_bytes));
  }
  if (c.checkpoint % 8 != 0 || c.checkpoint_copy.redo > c.checkpoint) {
    return Corrupted(fmt::format("checkpoint at {:X} with redo at {:X}",
                                 c.checkpoint, c.checkpoint_copy.redo));
  }
  return c;
}

}  // namespace properties

// ControlFileDecoder: global/pg_control, from which recovery starts.
// Source: src/include/catalog/pg_control.h.
#ifndef MUSTH_PROPERTIES_DECODERS_CONTROL_FILE_DECODER_H_
#define MUSTH_PROPERTIES_DECODERS_CONTROL_FILE_DECODER_H_

#include <cstdint>
#include <string_view>

#include "sim/env/status.h"

namespace properties {

inline constexpr char kControlFilePath[] = "global/pg_control";

// Values of ControlFile::state.
enum class ClusterState : uint32_t {
  kStartup,
  kShutDown,
  kShutDownInRecovery,
  kShuttingDown,
  kInCrashRecovery,
  kInArchiveRecovery,
  kInProduction,
};
const char* ClusterStateName(ClusterState state);

struct CheckpointFields {
  uint64_t redo = 0;
  uint32_t timeline = 0;
  bool full_page_writes = false;
  uint64_t next_xid = 0;  // epoch in the high half
  uint32_t next_oid = 0;
  uint32_t oldest_xid = 0;
  uint32_t oldest_active_xid = 0;
};
// Body of a checkpoint record, 88 bytes. Errors: kCorrupted for other lengths.
env::Result<CheckpointFields> DecodeCheckpoint(std::string_view body);

struct ControlFile {
  uint64_t system_identifier = 0;
  ClusterState state = ClusterState::kStartup;
  uint64_t checkpoint = 0;
  CheckpointFields checkpoint_copy;
  std::string_view checkpoint_bytes;  // of the copy; points into the input
  uint32_t wal_segment_bytes = 0;
  uint32_t data_checksum_version = 0;
};

// Errors: kCorrupted, saying which check failed: size, CRC, version, block
// sizes, state, alignment of positions.
env::Result<ControlFile> DecodeControlFile(std::string_view file);

}  // namespace properties

#endif  // MUSTH_PROPERTIES_DECODERS_CONTROL_FILE_DECODER_H_

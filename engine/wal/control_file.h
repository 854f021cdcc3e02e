// pg_control: the 296 bytes from which everything else is found.
//
// The structure fits one disk sector, so that overwriting it in place is
// atomic; the file is padded with zeros to 8192 bytes. Its CRC decides whether
// the node may start at all.
// Source: src/include/catalog/pg_control.h, src/common/controldata_utils.c.
#ifndef MUSTH_ENGINE_WAL_CONTROL_FILE_H_
#define MUSTH_ENGINE_WAL_CONTROL_FILE_H_

#include <type_traits>

#include "engine/common/backend.h"
#include "engine/wal/checkpoint.h"

namespace engine {

inline constexpr uint32_t PG_CONTROL_VERSION = 1300;
inline constexpr uint32_t CATALOG_VERSION_NO = 202209061;
inline constexpr size_t PG_CONTROL_FILE_SIZE = 8192;
inline constexpr char kControlFilePath[] = "global/pg_control";

enum DBState : uint32_t {
  DB_STARTUP = 0,
  DB_SHUTDOWNED = 1,
  DB_SHUTDOWNED_IN_RECOVERY = 2,
  DB_SHUTDOWNING = 3,
  DB_IN_CRASH_RECOVERY = 4,
  DB_IN_ARCHIVE_RECOVERY = 5,
  DB_IN_PRODUCTION = 6,
};

struct ControlFileData {
  uint64_t system_identifier = 0;
  uint32_t pg_control_version = PG_CONTROL_VERSION;
  uint32_t catalog_version_no = CATALOG_VERSION_NO;
  uint32_t state = DB_STARTUP;  // DBState
  uint32_t pad1 = 0;
  int64_t time = 0;  // seconds since 1970, of the last update
  XLogRecPtr checkPoint = 0;
  CheckPoint checkPointCopy;
  XLogRecPtr unloggedLSN = 1000;
  XLogRecPtr minRecoveryPoint = 0;
  TimeLineID minRecoveryPointTLI = 0;
  uint32_t pad2 = 0;
  XLogRecPtr backupStartPoint = 0;
  XLogRecPtr backupEndPoint = 0;
  uint8_t backupEndRequired = 0;
  uint8_t pad3[3] = {};
  uint32_t wal_level = 1;  // replica
  uint8_t wal_log_hints = 0;
  uint8_t pad4[3] = {};
  uint32_t MaxConnections = 0;
  uint32_t max_worker_processes = 8;
  uint32_t max_wal_senders = 10;
  uint32_t max_prepared_xacts = 0;
  uint32_t max_locks_per_xact = 64;
  uint8_t track_commit_timestamp = 0;
  uint8_t pad5[3] = {};
  uint32_t maxAlign = 8;
  uint64_t floatFormat = 0x4132D68700000000;  // 1234567.0 as IEEE 754
  uint32_t blcksz = BLCKSZ;
  uint32_t relseg_size = RELSEG_SIZE;
  uint32_t xlog_blcksz = XLOG_BLCKSZ;
  uint32_t xlog_seg_size = 0;
  uint32_t nameDataLen = 64;
  uint32_t indexMaxKeys = 32;
  uint32_t toast_max_chunk_size = 1996;
  uint32_t loblksize = 2048;
  uint8_t float8ByVal = 1;
  uint8_t pad6[3] = {};
  uint32_t data_checksum_version = 0;
  uint8_t mock_authentication_nonce[32] = {};
  uint32_t crc = 0;  // CRC-32C of all before it
  uint32_t pad7 = 0;
};
static_assert(sizeof(ControlFileData) == 296);
static_assert(sizeof(ControlFileData) <= 512);  // one sector
static_assert(offsetof(ControlFileData, checkPoint) == 32);
static_assert(offsetof(ControlFileData, checkPointCopy) == 40);
static_assert(offsetof(ControlFileData, unloggedLSN) == 128);
static_assert(offsetof(ControlFileData, backupStartPoint) == 152);
static_assert(offsetof(ControlFileData, wal_level) == 172);
static_assert(offsetof(ControlFileData, maxAlign) == 204);
static_assert(offsetof(ControlFileData, floatFormat) == 208);
static_assert(offsetof(ControlFileData, xlog_seg_size) == 228);
static_assert(offsetof(ControlFileData, data_checksum_version) == 252);
static_assert(offsetof(ControlFileData, mock_authentication_nonce) == 256);
static_assert(offsetof(ControlFileData, crc) == 288);
static_assert(std::has_unique_object_representations_v<ControlFileData>);

// Body of XLOG_PARAMETER_CHANGE: the settings of ControlFileData that whoever
// replays the log must know.
struct xl_parameter_change {
  uint32_t MaxConnections = 0;
  uint32_t max_worker_processes = 0;
  uint32_t max_wal_senders = 0;
  uint32_t max_prepared_xacts = 0;
  uint32_t max_locks_per_xact = 0;
  uint32_t wal_level = 0;
  uint8_t wal_log_hints = 0;
  uint8_t track_commit_timestamp = 0;
  uint8_t pad[2] = {};

  bool operator==(const xl_parameter_change&) const = default;
};
static_assert(sizeof(xl_parameter_change) == 28);
static_assert(offsetof(xl_parameter_change, wal_log_hints) == 24);
static_assert(std::has_unique_object_representations_v<xl_parameter_change>);

xl_parameter_change ParametersOf(const ControlFileData& data);
void SetParameters(const xl_parameter_change& parameters,
                   ControlFileData* data);

// What initdb would write for this configuration; state and checkpoint unset.
ControlFileData NewControlFile(const Config& config);

// Reads and judges the file.
// Suspends: yes. Errors: PostgreSQL's texts: "incorrect checksum in control
// file", "database files are incompatible with server" with its detail.
Result<ControlFileData> ReadControlFile(Backend& be);

// Creates the file. Requires: it does not exist. Suspends: yes.
Status CreateControlFile(Backend& be, ControlFileData data);

// Overwrites the file in place and makes it durable. Sets crc only; the
// caller has set what else changed. A failure is a PANIC. Suspends: yes.
void WriteControlFile(Backend& be, ControlFileData data);

// The judgement alone: bytes of the file, of any length.
Result<ControlFileData> DecodeControlFile(std::string_view bytes,
                                          uint32_t wal_segment_size);
// The 8192 bytes of the file, CRC included.
std::string EncodeControlFile(ControlFileData data);

// Seconds since 1970 of this host's wall clock.
int64_t PgTimeNow(Backend& be);

}  // namespace engine

#endif  // MUSTH_ENGINE_WAL_CONTROL_FILE_H_

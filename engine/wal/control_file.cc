#include "engine/wal/control_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <utility>

#include "engine/common/checksum.h"
#include "engine/common/errcodes.h"
#include "engine/common/file_error.h"
#include "engine/common/file_io.h"
#include "engine/common/sites.h"
#include "engine/wal/xlog_internal.h"
#include "sim/env/files.h"

namespace engine {
namespace {

constexpr int64_t kPostgresEpochSeconds = 946684800;  // 2000-01-01, from 1970

uint32_t ControlFileCrc(const ControlFileData& data) {
  const auto* bytes = reinterpret_cast<const char*>(&data);
  return Crc32c({bytes, offsetof(ControlFileData, crc)});
}

Status Incompatible(std::string detail, std::string hint) {
  return SqlError(ERRCODE_INTERNAL_ERROR,
                  "database files are incompatible with server")
      .WithDetail(std::move(detail))
      .WithHint(std::move(hint));
}

Status CheckVersion(const ControlFileData& data) {
  uint32_t version = data.pg_control_version;
  if (version == PG_CONTROL_VERSION) return {};
  if (version % 65536 == 0 && version / 65536 != 0) {
    return Incompatible(
        fmt::format("The database cluster was initialized with "
                    "PG_CONTROL_VERSION {} (0x{:08x}), but the server was "
                    "compiled with PG_CONTROL_VERSION {} (0x{:08x}).",
                    version, version, PG_CONTROL_VERSION, PG_CONTROL_VERSION),
        "This could be a problem of mismatched byte ordering.  It looks like "
        "you need to initdb.");
  }
  return Incompatible(
      fmt::format("The database cluster was initialized with "
                  "PG_CONTROL_VERSION {}, but the server was compiled with "
                  "PG_CONTROL_VERSION {}.",
                  version, PG_CONTROL_VERSION),
      "It looks like you need to initdb.");
}

// The fields that are fixed when a server is compiled.
Status CheckCompiledIn(const ControlFileData& data) {
  const ControlFileData ours;
  if (data.floatFormat != ours.floatFormat) {
    return Incompatible(
        "The database cluster appears to use a different floating-point "
        "number format than the server executable.",
        "It looks like you need to initdb.");
  }
  const struct {
    const char* name;
    uint32_t theirs;
    uint32_t ours;
    bool recompile;
  } rows[] = {
      {"CATALOG_VERSION_NO", data.catalog_version_no, ours.catalog_version_no,
       false},
      {"MAXALIGN", data.maxAlign, ours.maxAlign, false},
      {"BLCKSZ", data.blcksz, ours.blcksz, true},
      {"RELSEG_SIZE", data.relseg_size, ours.relseg_size, true},
      {"XLOG_BLCKSZ", data.xlog_blcksz, ours.xlog_blcksz, true},
      {"NAMEDATALEN", data.nameDataLen, ours.nameDataLen, true},
      {"INDEX_MAX_KEYS", data.indexMaxKeys, ours.indexMaxKeys, true},
      {"TOAST_MAX_CHUNK_SIZE", data.toast_max_chunk_size,
       ours.toast_max_chunk_size, true},
      {"LOBLKSIZE", data.loblksize, ours.loblksize, true},
  };
  for (const auto& row : rows) {
    if (row.theirs == row.ours) continue;
    return Incompatible(
        fmt::format("The database cluster was initialized with {} {}, but the "
                    "server was compiled with {} {}.",
                    row.name, row.theirs, row.name, row.ours),
        row.recompile ? "It looks like you need to recompile or initdb."
                      : "It looks like you need to initdb.");
  }
  if (data.float8ByVal != ours.float8ByVal) {
    return Incompatible(
        "The database cluster was initialized without USE_FLOAT8_BYVAL but "
        "the server was compiled with USE_FLOAT8_BYVAL.",
        "It looks like you need to recompile or initdb.");
  }
  return {};
}

// There is one such file in a host.
env::Access NextChange() {
  return env::Access::Numbered(env::SiteHash(kControlFilePath), true,
                               env::AccessGroup::kFile);
}

Status WriteAndSync(Backend& be, uint32_t open_flags, ControlFileData data) {
  std::string bytes = EncodeControlFile(data);
  ASSIGN_OR_RETURN(std::unique_ptr<env::File> file,
                   be.env->files->Open(kControlFilePath, open_flags));
  INJECTION_POINT_BEFORE(control_file_before_write, NextChange());
  // What a short write would leave behind is no valid file.
  RETURN_IF_ERROR(WriteFully(*file, 0, bytes));
  INJECTION_POINT_BEFORE(control_file_before_fsync, NextChange());
  if (PLANTED(control_file_not_synced)) return {};
  return file->Fsync();
}

}  // namespace

xl_parameter_change ParametersOf(const ControlFileData& data) {
  xl_parameter_change parameters;
  parameters.MaxConnections = data.MaxConnections;
  parameters.max_worker_processes = data.max_worker_processes;
  parameters.max_wal_senders = data.max_wal_senders;
  parameters.max_prepared_xacts = data.max_prepared_xacts;
  parameters.max_locks_per_xact = data.max_locks_per_xact;
  parameters.wal_level = data.wal_level;
  parameters.wal_log_hints = data.wal_log_hints;
  parameters.track_commit_timestamp = data.track_commit_timestamp;
  return parameters;
}

void SetParameters(const xl_parameter_change& parameters,
                   ControlFileData* data) {
  data->MaxConnections = parameters.MaxConnections;
  data->max_worker_processes = parameters.max_worker_processes;
  data->max_wal_senders = parameters.max_wal_senders;
  data->max_prepared_xacts = parameters.max_prepared_xacts;
  data->max_locks_per_xact = parameters.max_locks_per_xact;
  data->wal_level = parameters.wal_level;
  data->wal_log_hints = parameters.wal_log_hints;
  data->track_commit_timestamp = parameters.track_commit_timestamp;
}

ControlFileData NewControlFile(const Config& config) {
  ControlFileData data;
  data.system_identifier = config.system_identifier;
  data.xlog_seg_size = config.wal_segment_size;
  data.wal_log_hints = config.wal_log_hints ? 1 : 0;
  data.MaxConnections = static_cast<uint32_t>(config.max_connections);
  data.data_checksum_version = config.data_checksums ? 1 : 0;
  // No one authenticates against it; it only must not be all zeros.
  uint64_t word = config.system_identifier;
  for (uint8_t& byte : data.mock_authentication_nonce) {
    word = word * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<uint8_t>(word >> 56);
  }
  return data;
}

std::string EncodeControlFile(ControlFileData data) {
  data.crc = ControlFileCrc(data);
  std::string bytes(PG_CONTROL_FILE_SIZE, '\0');
  // The CRC ends what it covers. What pads the structure behind it may have
  // come from a damaged file, and is not passed on.
  std::memcpy(bytes.data(), &data,
              offsetof(ControlFileData, crc) + sizeof(data.crc));
  return bytes;
}

Result<ControlFileData> DecodeControlFile(std::string_view bytes,
                                          uint32_t wal_segment_size) {
  if (bytes.size() < sizeof(ControlFileData)) {
    return SqlError(ERRCODE_DATA_CORRUPTED,
                    "could not read file \"{}\": read {} of {}",
                    kControlFilePath, bytes.size(), sizeof(ControlFileData));
  }
  // A bool may hold only 0 and 1; the CRC is over the bytes as they are.
  std::string copy(bytes.substr(0, sizeof(ControlFileData)));
  uint32_t crc = Crc32c(copy.substr(0, offsetof(ControlFileData, crc)));
  char& flag = copy[offsetof(ControlFileData, checkPointCopy) +
                    offsetof(CheckPoint, fullPageWrites)];
  flag = flag != 0 ? 1 : 0;
  ControlFileData data;
  std::memcpy(&data, copy.data(), sizeof(data));
  RETURN_IF_ERROR(CheckVersion(data));
  if (crc != data.crc) {
    return SqlError(ERRCODE_DATA_CORRUPTED,
                    "incorrect checksum in control file");
  }
  RETURN_IF_ERROR(CheckCompiledIn(data));
  if (!IsValidWalSegSize(data.xlog_seg_size)) {
    return SqlError(ERRCODE_INVALID_PARAMETER_VALUE,
                    "WAL segment size must be a power of two between 1 MB and "
                    "1 GB, but the control file specifies {} bytes",
                    data.xlog_seg_size);
  }
  // Differs: the size is part of the configuration here.
  if (data.xlog_seg_size != wal_segment_size) {
    return Incompatible(
        fmt::format("The database cluster was initialized with WAL segments "
                    "of {} bytes, but the configuration says {}.",
                    data.xlog_seg_size, wal_segment_size),
        "Start the node with the configuration that it was created with.");
  }
  return data;
}

Result<ControlFileData> ReadControlFile(Backend& be) {
  Result<std::unique_ptr<env::File>> file =
      be.env->files->Open(kControlFilePath, env::kOpenRead);
  if (!file.ok()) {
    return SqlError(ERRCODE_UNDEFINED_FILE, "could not open file \"{}\": {}",
                    kControlFilePath, ErrnoText(file.status().code()));
  }
  std::string bytes(sizeof(ControlFileData), '\0');
  Result<size_t> have = ReadFully(**file, 0, bytes);
  if (!have.ok()) {
    return SqlError(ERRCODE_IO_ERROR, "could not read file \"{}\": {}",
                    kControlFilePath, ErrnoText(have.status().code()));
  }
  bytes.resize(*have);
  return DecodeControlFile(bytes, be.config().wal_segment_size);
}

Status CreateControlFile(Backend& be, ControlFileData data) {
  RETURN_IF_ERROR(WriteAndSync(
      be, env::kOpenWrite | env::kOpenCreate | env::kOpenExclusive, data));
  return be.env->files->FsyncDir("global");
}

void WriteControlFile(Backend& be, ControlFileData data) {
  Status status = WriteAndSync(be, env::kOpenWrite, data);
  if (!status.ok()) {
    Panic(be, fmt::format("could not write to file \"{}\": {}",
                          kControlFilePath, ErrnoText(status.code())));
  }
}

int64_t PgTimeNow(Backend& be) {
  int64_t micros = be.env->clock->WallMicros();
  return micros / 1000000 + kPostgresEpochSeconds;
}

}  // namespace engine

// Config: one node's settings, fixed while it runs (PostgreSQL's GUCs and
// initdb options).
#ifndef MUSTH_ENGINE_COMMON_CONFIG_H_
#define MUSTH_ENGINE_COMMON_CONFIG_H_

#include <compare>
#include <cstdint>

#include "sim/env/ids.h"

namespace engine {

// How full-page images in the log are compressed (PostgreSQL's
// wal_compression).
enum class WalCompression : uint8_t { kOff, kPglz, kLz4 };

struct Config {
  // Fixed at initdb.
  bool data_checksums = true;
  // Bytes, a power of two. PostgreSQL's least is 1 MiB; smaller ones make log
  // switches and recycling common in short runs.
  uint32_t wal_segment_size = 1 << 20;
  uint64_t system_identifier = 0x6d75737468000001;

  // Memory.
  int shared_buffers = 128;  // pages, at least 8
  int wal_buffers = 16;      // pages, at least 4
  int max_connections = 16;
  int clog_buffers = 4;  // pages

  // Write-ahead log.
  bool full_page_writes = true;
  bool wal_log_hints = false;
  WalCompression wal_compression = WalCompression::kOff;
  bool synchronous_commit = true;  // default of new sessions
  env::TimeNs wal_writer_delay_ns = 200 * env::kMillisecond;
  int wal_insert_locks = 8;
  // How long a commit waits for others before it flushes, if at least
  // commit_siblings others have transactions open.
  env::TimeNs commit_delay_ns = 0;
  int commit_siblings = 5;

  // Checkpoints.
  env::TimeNs checkpoint_timeout_ns = 300 * env::kSecond;
  int64_t max_wal_size_bytes = int64_t{1} << 30;
  int64_t min_wal_size_bytes = int64_t{80} << 20;
  env::TimeNs bgwriter_delay_ns = 200 * env::kMillisecond;
  int bgwriter_max_pages = 100;

  env::TimeNs deadlock_timeout_ns = env::kSecond;

  // Beyond PostgreSQL; off by default. Each closes a row of the contract
  // matrix that PostgreSQL leaves open.
  // C5: fsync the directory of a new relation file before its commit.
  bool sync_new_file_directory = false;
  // C11: write and fsync the WAL that recovery read from the page cache again
  // before anything in it is trusted.
  bool rewrite_wal_before_trust = false;
  // C16: remember which blocks were written with content, and refuse to read
  // zeros there. Fixed at initdb.
  bool detect_zeroed_pages = false;
  // C18: mix the relation and the fork into the checksum of a page. Fixed at
  // initdb.
  bool checksum_relation = false;
  // C21: keep on the device up to where the log was flushed, and refuse to
  // start if it ends earlier.
  bool wal_flush_watermark = false;
  // C22: a checksum in every sector of the commit log. Fixed at initdb.
  bool clog_checksums = false;

  auto operator<=>(const Config&) const = default;
};

}  // namespace engine

#endif  // MUSTH_ENGINE_COMMON_CONFIG_H_

// Knobs: the sizes and settings of one run, drawn per seed.
//
// Small values everywhere make rare paths common: a pool of 8 buffers evicts
// all the time, 64 KiB segments switch and recycle within a few transactions.
// Every knob has its own keyed draw (Stream::kKnobs, scope "w0", the knob's
// name), so that adding one moves no other; with base zero each has its
// simplest value: one session, few rows, a large pool, no checkpoint in sight.
//
// Text form, for recipes and --knob: sizes as 64K or 1M, times as 200ms,
// switches as on and off, choices by name.
#ifndef MUSTH_FAULTS_SWARM_H_
#define MUSTH_FAULTS_SWARM_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "faults/profile.h"
#include "sim/choices.h"
#include "sim/disk.h"
#include "sim/env/ids.h"
#include "sim/env/status.h"
#include "sim/strategies.h"

namespace faults {

// Kinds of shared state that a strategy looks at. kLocks: waits for
// transactions, and their ends.
enum class StrategySet : uint8_t { kAll, kLog, kPages, kSessions, kLocks };

// Whether sessions load many rows at once, and which.
enum class BulkLoad : uint8_t { kOff, kLongRows, kShortRows };

// Every field is a knob of the same name, without the unit; switches are 0 and
// 1, choices by name are the values of the enum named beside them. The initial
// values are the simplest ones.
struct Knobs {
  // The node; PostgreSQL's names.
  int64_t shared_buffers = 128;  // pages
  int64_t wal_buffers = 16;      // pages
  int64_t wal_insert_locks = 8;  // PostgreSQL's is a constant
  int64_t clog_buffers = 4;      // pages
  int64_t wal_segment_size_bytes = 1 << 20;
  // How much of a WAL segment is left when the run begins, with two recycled
  // segments ahead; 0: the log stands where initdb ended.
  int64_t wal_room_bytes = 0;
  // How many transaction ids are left on a page of the commit log when the run
  // begins; 0: as initdb left it.
  int64_t xid_room = 0;
  int64_t commit_delay_ns = 0;
  int64_t commit_siblings = 5;
  int64_t max_wal_size_bytes = int64_t{1} << 30;
  int64_t checkpoint_timeout_ns = 300 * env::kSecond;
  int64_t bgwriter_delay_ns = 200 * env::kMillisecond;
  int64_t wal_writer_delay_ns = 200 * env::kMillisecond;
  int64_t data_checksums = 1;
  int64_t full_page_writes = 1;  // 0 only with atomic8k
  int64_t wal_compression = 0;   // engine::WalCompression
  int64_t wal_log_hints = 0;
  // Options beyond PostgreSQL; never drawn, set to close a known gap.
  int64_t sync_new_file_directory = 0;   // contract row C5
  int64_t rewrite_wal_before_trust = 0;  // contract row C11
  int64_t detect_zeroed_pages = 0;       // contract row C16
  int64_t checksum_relation = 0;         // contract row C18
  int64_t prompt_sync_errors = 0;        // contract row C12, of the disk
  int64_t wal_flush_watermark = 0;       // contract row C21
  int64_t clog_checksums = 0;            // contract row C22

  // The workload.
  int64_t sessions = 1;
  int64_t rows = 3;                          // per table, at the start
  int64_t txns = 2;                          // per session
  int64_t synchronous_commit_percent = 100;  // of the transactions
  // How the node is stopped once in the middle of the work, and after how many
  // answers to clients; engine::ShutdownMode, smart: not in the middle.
  int64_t shutdown = 0;
  int64_t shutdown_after = 1;
  int64_t bulk_load = 0;  // BulkLoad
  // Faults stop when every session is at its last transaction; from then on
  // all must finish.
  int64_t quiet_tail = 0;

  // The scheduler: a task that could go on is left in 1 of so many points; a
  // timer fires early in 1 of so many.
  int64_t strategy = 0;  // sim::StrategyKind, without kRecorded
  // pct: the depth of the bugs it looks for; delay: how many delays.
  int64_t strategy_depth = 1;
  // StrategySet. surw: whose interleavings it samples; pct, delay: at whose
  // points it deviates.
  int64_t strategy_set = 0;
  int64_t switch_denominator = 32;
  int64_t timer_denominator = 128;

  // The disk.
  int64_t sector_size_bytes = 512;
  int64_t atomic8k = 0;
  int64_t meta = 0;          // sim::MetaMode
  int64_t fill = 0;          // sim::Fill
  int64_t image_mix = 0;     // sim::ImageMix
  int64_t sync_failure = 1;  // sim::SyncFailure, without kNone, kNoSpace
  int64_t delayed_allocation = 0;
};

using KnobSettings = std::vector<std::pair<std::string, std::string>>;

// Names of all knobs, sorted.
std::vector<std::string> KnobNames();
// The values of a knob that seeds draw, as text, simplest first; empty if it is
// never drawn or unknown.
std::vector<std::string> DrawnKnobValues(std::string_view name);
// The knob's value as text. Errors: kInvalid for an unknown knob, naming the
// known ones.
env::Result<std::string> GetKnob(const Knobs& knobs, std::string_view name);
// Sets it from text. Errors: kInvalid, naming the known knobs, or what the
// knob's value may be.
env::Status SetKnob(Knobs* knobs, std::string_view name,
                    std::string_view value);
// Errors: kInvalid if the knobs contradict each other (full_page_writes off
// without atomic8k, more WAL segments needed than max_wal_size allows).
env::Status CheckKnobs(const Knobs& knobs);

// The knobs of a run: drawn under the profile, then the overrides applied in
// order. Errors: kInvalid, as SetKnob and CheckKnobs.
env::Result<Knobs> DrawKnobs(sim::Choices& choices, const Profile& profile,
                             const KnobSettings& overrides);

sim::DiskOptions DiskOptionsOf(const Knobs& knobs);
sim::StrategyOptions StrategyOptionsOf(const Knobs& knobs);
// Whether the strategy wants to know what a run of the plan does (sim/pilot.h).
bool WantsPilot(const Knobs& knobs);

// "shared_buffers=8 wal_segment_size=64K ...": all knobs, in one line.
std::string ToString(const Knobs& knobs);

}  // namespace faults

#endif  // MUSTH_FAULTS_SWARM_H_

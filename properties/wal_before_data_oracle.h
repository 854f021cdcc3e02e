// WalBeforeDataOracle: positions only move forward, and WAL goes first.
//
// Checks, by event:
// 1. A page is written only when WAL is flushed up to its LSN (WAL). Flushed
//    is what kWalFlush said, not what the buffer manager believes; during
//    recovery it is what was read back from disk and replayed.
// 2. The flush position and, per page, the LSN of written pages never go back
//    while the node runs (WAL).
// 3. Redo pointers and checkpoint positions never go back; recovery never
//    starts from an older checkpoint than the last one that pg_control was
//    durably pointed at (CKPT). A checkpoint that pg_control was read to name
//    counts as durable only after a power loss.
// Does not check: commit log pages, whose writes carry no LSN; that what was
// reported as flushed is durable (AckOracle after the next crash).
#ifndef MUSTH_PROPERTIES_WAL_BEFORE_DATA_ORACLE_H_
#define MUSTH_PROPERTIES_WAL_BEFORE_DATA_ORACLE_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "properties/oracle.h"
#include "sim/env/event_sink.h"

namespace properties {

class WalBeforeDataOracle {
 public:
  explicit WalBeforeDataOracle(VerdictSink* sink) : sink_(sink) {}

  // A copy that reports elsewhere.
  WalBeforeDataOracle(const WalBeforeDataOracle& other, VerdictSink* sink)
      : WalBeforeDataOracle(other) {
    sink_ = sink;
  }

  void OnEvent(const env::Event& event);

 private:
  void OnPageWrite(const env::Event& event);
  void OnCheckpoint(const env::Event& event);
  void OnRecoveryStart(const env::Event& event);
  void Report(const char* promise, std::string subject, std::string message,
              uint64_t seq);

  VerdictSink* sink_;
  bool recovering_ = false;
  bool power_lost_ = false;  // since the last start of recovery
  uint64_t flushed_ = 0;
  uint64_t redo_ = 0;                // newest redo pointer taken
  uint64_t durable_checkpoint_ = 0;  // newest one named by pg_control
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> page_lsn_;  // page, fork
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_WAL_BEFORE_DATA_ORACLE_H_

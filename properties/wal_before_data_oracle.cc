#include "properties/wal_before_data_oracle.h"

#include <fmt/format.h>

#include <algorithm>

#include "properties/decoders/wal_decoder.h"
#include "sim/fault_hooks.h"

namespace properties {
namespace {

using env::EventKind;

// Phases of kCheckpoint events; see engine/wal/checkpoint.h.
constexpr uint64_t kPhaseRedo = 1;
constexpr uint64_t kPhaseControlFile = 5;

std::string PageName(uint64_t page, uint64_t fork) {
  constexpr const char* kSuffix[] = {"", "_fsm", "_vm", "_init"};
  return fmt::format("page base/5/{}{}:{}", page >> 32,
                     fork < 4 ? kSuffix[fork] : "", page & 0xFFFFFFFF);
}

}  // namespace

void WalBeforeDataOracle::Report(const char* promise, std::string subject,
                                 std::string message, uint64_t seq) {
  sink_->Report(promise, "wal_before_data", std::move(subject),
                std::move(message), seq);
}

void WalBeforeDataOracle::OnEvent(const env::Event& e) {
  switch (e.kind) {
    case EventKind::kWalFlush:
      if (!recovering_ && e.a[0] < flushed_) {
        Report("WAL", "flush position",
               fmt::format("went back from {} to {}", LsnToText(flushed_),
                           LsnToText(e.a[0])),
               e.seq);
      }
      flushed_ = std::max(flushed_, e.a[0]);
      break;
    case EventKind::kPageWrite:
      OnPageWrite(e);
      break;
    case EventKind::kCheckpoint:
      OnCheckpoint(e);
      break;
    case EventKind::kCrash:
      page_lsn_.clear();
      power_lost_ |=
          e.a[0] == static_cast<uint64_t>(sim::CrashKind::kPowerLoss);
      break;
    case EventKind::kRecoveryStart:
      OnRecoveryStart(e);
      break;
    case EventKind::kRedo:
      flushed_ = std::max(flushed_, e.a[1]);
      break;
    case EventKind::kRedoPage:
      flushed_ = std::max(flushed_, e.a[0]);
      break;
    case EventKind::kRecoveryEnd:
      // What lies above was never flushed, or AckOracle will tell.
      recovering_ = false;
      flushed_ = e.a[0];
      break;
    default:
      break;
  }
}

void WalBeforeDataOracle::OnPageWrite(const env::Event& e) {
  uint64_t lsn = e.a[2];
  if (lsn > flushed_) {
    Report("WAL", PageName(e.a[0], e.a[1]),
           fmt::format("written with LSN {} when WAL was flushed up to {}",
                       LsnToText(lsn), LsnToText(flushed_)),
           e.seq);
  }
  uint64_t& last = page_lsn_[{e.a[0], e.a[1]}];
  if (lsn < last) {
    Report("WAL", PageName(e.a[0], e.a[1]),
           fmt::format("written with LSN {} after LSN {}", LsnToText(lsn),
                       LsnToText(last)),
           e.seq);
  }
  last = lsn;
}

void WalBeforeDataOracle::OnCheckpoint(const env::Event& e) {
  if (e.a[0] == kPhaseRedo) {
    if (e.a[1] < redo_) {
      Report("CKPT", "redo pointer",
             fmt::format("went back from {} to {}", LsnToText(redo_),
                         LsnToText(e.a[1])),
             e.seq);
    }
    redo_ = e.a[1];
  }
  if (e.a[0] == kPhaseControlFile) {
    if (e.a[2] < durable_checkpoint_) {
      Report("CKPT", "pg_control",
             fmt::format("now names the checkpoint at {}, before the one at {}",
                         LsnToText(e.a[2]), LsnToText(durable_checkpoint_)),
             e.seq);
    }
    durable_checkpoint_ = e.a[2];
  }
}

void WalBeforeDataOracle::OnRecoveryStart(const env::Event& e) {
  recovering_ = true;
  page_lsn_.clear();
  if (e.a[1] < durable_checkpoint_) {
    Report("CKPT", "recovery",
           fmt::format("starts from the checkpoint at {}, pg_control was "
                       "durably pointed at {}",
                       LsnToText(e.a[1]), LsnToText(durable_checkpoint_)),
           e.seq);
  }
  // After a power loss what is read is what the media holds. Otherwise it may
  // be the cached bytes of a write whose fsync failed, which can still vanish.
  if (power_lost_ || e.a[1] < durable_checkpoint_) {
    durable_checkpoint_ = e.a[1];
  }
  power_lost_ = false;
  // The redo pointer of a checkpoint that did not finish is forgotten.
  redo_ = e.a[0];
}

}  // namespace properties

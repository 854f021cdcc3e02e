#include "properties/log_check.h"

#include <fmt/format.h>

#include "properties/decoders/bytes.h"

namespace properties {
namespace {

constexpr uint32_t kFirstNormalXid = 3;
constexpr uint32_t kOurDatabase = 5;
constexpr uint8_t kInfoShutdownCheckpoint = 0x00;
constexpr uint8_t kInfoOnlineCheckpoint = 0x10;

bool IsCheckpoint(const WalRecord& record) {
  uint8_t op = record.info & 0xF0;
  return record.rmid == kRmXlog &&
         (op == kInfoShutdownCheckpoint || op == kInfoOnlineCheckpoint);
}

}  // namespace

LogSummary ReadLog(const ClusterImage& image, bool with_blocks) {
  const ControlFile& control = *image.control();
  LogSummary log;
  log.next_xid = static_cast<uint32_t>(control.checkpoint_copy.next_xid);
  WalDecoder wal(&image.files(), image.wal_layout());
  wal.BeginRead(control.checkpoint_copy.redo);
  while (wal.Next()) {
    const WalRecord& record = wal.record();
    ++log.records;
    log.last_record = record.start;
    if (record.xid >= kFirstNormalXid &&
        static_cast<int32_t>(record.xid - log.next_xid) >= 0) {
      log.next_xid = record.xid + 1;
    }
    if (record.start == control.checkpoint) {
      log.has_checkpoint =
          IsCheckpoint(record) && record.main_data == control.checkpoint_bytes;
    }
    if (!with_blocks) continue;
    for (const WalBlockRef& block : record.blocks) {
      if (block.fork != 0 || block.db_node != kOurDatabase) continue;
      log.blocks.insert({block.rel_node, block.block});
    }
  }
  log.end = wal.end();
  log.reason = wal.reason();
  return log;
}

void CheckControl(const ControlFile& control, Problems* problems) {
  const CheckpointFields& checkpoint = control.checkpoint_copy;
  auto report = [problems](std::string message) {
    problems->Add("REC", kControlFilePath, std::move(message));
  };
  auto next_xid = static_cast<uint32_t>(checkpoint.next_xid);
  if (next_xid < kFirstNormalXid) report("invalid next transaction ID");
  if (checkpoint.oldest_xid < kFirstNormalXid ||
      static_cast<int32_t>(next_xid - checkpoint.oldest_xid) < 0) {
    report(fmt::format("oldest transaction ID {} with next transaction ID {}",
                       checkpoint.oldest_xid, next_xid));
  }
  if (checkpoint.timeline == 0) report("invalid timeline ID 0");
  if (control.data_checksum_version > 1) {
    report(fmt::format("unknown data checksum version {}",
                       control.data_checksum_version));
  }
}

void CheckLog(const ControlFile& control, const LogSummary& log, bool shut_down,
              const NewestPage& newest, Problems* problems) {
  const uint64_t redo = control.checkpoint_copy.redo;
  if (shut_down && redo != control.checkpoint) {
    problems->Add("CKPT", kControlFilePath,
                  fmt::format("redo of the shutdown checkpoint at {} is {}",
                              LsnToText(control.checkpoint), LsnToText(redo)));
  }
  if (!log.has_checkpoint) {
    problems->Add(
        "CKPT", kControlFilePath,
        fmt::format("invalid primary checkpoint record: it names a checkpoint "
                    "at {}; the log from {} to {} has no such record ({})",
                    LsnToText(control.checkpoint), LsnToText(redo),
                    LsnToText(log.end), log.reason));
  }
  if (newest.lsn > log.end) {
    problems->Add(
        "WAL", newest.name,
        fmt::format("has LSN {}, the log on disk ends at {} ({})",
                    LsnToText(newest.lsn), LsnToText(log.end), log.reason));
  }
  if (shut_down && log.has_checkpoint &&
      log.last_record != control.checkpoint) {
    problems->Add(
        "CKPT", "log after shutdown",
        fmt::format("a record at {} follows the shutdown checkpoint at {}",
                    LsnToText(log.last_record), LsnToText(control.checkpoint)));
  }
}

}  // namespace properties

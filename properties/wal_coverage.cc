#include "properties/wal_coverage.h"

#include "properties/decoders/wal_decoder.h"

namespace properties {

void WalCoverage::OnEvent(const env::Event& event) {
  if (event.kind == env::EventKind::kRecoveryEnd) {
    uint64_t cut = event.a[0];
    std::erase_if(first_end_,
                  [cut](const auto& page) { return page.second > cut; });
    return;
  }
  if (event.kind != env::EventKind::kWalInsert) return;
  env::Result<WalRecord> record = DecodeWalRecord(event.bytes);
  if (!record.ok()) return;  // WalOracle reads it again from the disk
  for (const WalBlockRef& block : record->blocks) {
    first_end_.try_emplace({block.rel_node, block.fork, block.block},
                           event.a[1]);
  }
}

}  // namespace properties

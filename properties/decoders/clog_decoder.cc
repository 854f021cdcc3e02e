#include "properties/decoders/clog_decoder.h"

#include <fmt/format.h>

#include "properties/decoders/bytes.h"

namespace properties {
namespace {

constexpr uint32_t kXidsPerFile = 32768 * 32;
constexpr uint32_t kFirstNormalXid = 3;
constexpr size_t kSealedSector = 512;
constexpr size_t kSealedData = 504;

}  // namespace

const char* ClogStatusName(ClogStatus status) {
  switch (status) {
    case ClogStatus::kInProgress:
      return "in progress";
    case ClogStatus::kCommitted:
      return "committed";
    case ClogStatus::kAborted:
      return "aborted";
    case ClogStatus::kSubCommitted:
      return "sub-committed";
  }
  return "unknown";
}

std::string ClogPath(uint32_t xid) {
  return fmt::format("pg_xact/{:04X}", xid / kXidsPerFile);
}

std::optional<ClogStatus> ClogDecoder::StatusOf(uint32_t xid) const {
  uint32_t file = xid / kXidsPerFile;
  if (file != cached_file_) {
    cached_file_ = file;
    cached_ = files_->Read(ClogPath(xid));
  }
  size_t byte = (xid % kXidsPerFile) / 4;
  if (sealed_) {
    size_t in_page = byte % kPageBytes;
    byte = byte / kPageBytes * kSealedClogPageBytes +
           in_page / kSealedData * kSealedSector + in_page % kSealedData;
  }
  if (cached_ == nullptr || byte >= cached_->size()) return std::nullopt;
  auto bits = static_cast<unsigned char>((*cached_)[byte]);
  return static_cast<ClogStatus>(bits >> (xid % 4 * 2) & 3);
}

bool ClogDecoder::IsCommitted(uint32_t xid) const {
  if (xid < kFirstNormalXid) return xid != 0;
  return StatusOf(xid) == ClogStatus::kCommitted;
}

}  // namespace properties

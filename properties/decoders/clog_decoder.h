// ClogDecoder: how each transaction ended, from pg_xact/.
//
// Two bits per transaction, 32768 transactions a page, 32 pages a file.
// Source: src/backend/access/transam/clog.c.
#ifndef MUSTH_PROPERTIES_DECODERS_CLOG_DECODER_H_
#define MUSTH_PROPERTIES_DECODERS_CLOG_DECODER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "properties/decoders/cluster_view.h"
#include "properties/decoders/tuple_decoder.h"

namespace properties {

enum class ClogStatus : uint8_t {
  kInProgress,  // or crashed: aborted once nothing runs
  kCommitted,
  kAborted,
  kSubCommitted,
};
const char* ClogStatusName(ClogStatus status);

// "pg_xact/0000"
std::string ClogPath(uint32_t xid);

// A page of the commit log on disk where clog_checksums is on.
inline constexpr size_t kSealedClogPageBytes = size_t{17} * 512;

class ClogDecoder : public CommittedXids {
 public:
  // The view outlives the decoder. sealed: the engine's option clog_checksums
  // is on: a page takes 17 sectors of 512 bytes, 504 of them data.
  explicit ClogDecoder(const ClusterView* files, bool sealed = false)
      : files_(files), sealed_(sealed) {}

  // Nothing if the page that would hold it does not exist.
  std::optional<ClogStatus> StatusOf(uint32_t xid) const;
  // Bootstrap and frozen xids always are; a missing page means no.
  bool IsCommitted(uint32_t xid) const override;

 private:
  const ClusterView* files_;
  const bool sealed_;
  mutable uint32_t cached_file_ = UINT32_MAX;
  mutable const std::string* cached_ = nullptr;
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_DECODERS_CLOG_DECODER_H_

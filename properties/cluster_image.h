// ClusterImage: a data directory at rest, decoded once for all judges.
//
// Files are read when first asked for; heap files are decoded tuple by tuple.
// What cannot be decoded is kept as a list of findings and skipped. A damaged
// page that injected faults excuse is skipped as a whole, without a finding.
#ifndef MUSTH_PROPERTIES_CLUSTER_IMAGE_H_
#define MUSTH_PROPERTIES_CLUSTER_IMAGE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "properties/decoders/clog_decoder.h"
#include "properties/decoders/cluster_view.h"
#include "properties/decoders/control_file_decoder.h"
#include "properties/decoders/tuple_decoder.h"
#include "properties/decoders/wal_decoder.h"
#include "sim/disk.h"

namespace properties {

// A frozen disk as a ClusterView. The disk outlives the view and does not
// change meanwhile.
class DiskView : public ClusterView {
 public:
  explicit DiskView(const sim::Disk& disk) : disk_(disk) {}
  const std::string* Read(std::string_view path) const override;
  std::vector<std::string> List(std::string_view dir) const override {
    return disk_.PeekList(dir);
  }

 private:
  const sim::Disk& disk_;
  // Null: there is no such file.
  mutable std::map<std::string, std::unique_ptr<std::string>, std::less<>>
      files_;
};

struct HeapTupleRef {
  uint64_t tid = 0;  // block << 16 | offset
  TupleHeader header;
  std::string_view body;  // from t_infomask2 on
};

struct Finding {
  std::string subject;  // "page base/5/16384:3"
  std::string message;
  uint32_t block = UINT32_MAX;  // none: it is about the file
};

struct HeapFile {
  bool exists = false;
  uint32_t blocks = 0;
  std::vector<HeapTupleRef> tuples;  // by tid
  std::vector<Finding> findings;     // damage
  uint64_t newest_lsn = 0;
  std::string newest_page;        // the page that carries it
  std::vector<uint32_t> excused;  // damaged blocks that nobody is blamed for
};

// Whether injected faults excuse damage of that block of the fork at path.
using PageExcuse = std::function<bool(std::string_view path, uint32_t block)>;

// "base/5/16384"
std::string HeapPath(uint32_t filenode);

// What options of the engine change about its files.
struct ClusterFormat {
  bool checksums = true;           // data pages carry one
  bool checksum_relation = false;  // ... which the relation is mixed into
  bool clog_checksums = false;
};

class ClusterImage {
 public:
  ClusterImage(const ClusterView* files, const ClusterFormat& format,
               PageExcuse excuse = nullptr);
  // The view outlives the image. With checksums every page that is not new
  // must carry the right one. A null excuse excuses nothing.
  ClusterImage(const ClusterView* files, bool checksums,
               PageExcuse excuse = nullptr);

  // A relation file may end in a part of a page, which is no block: an
  // extension of which only a part was written (SFM-20, SFM-21) leaves one
  // behind, until the next extension overwrites it.
  void AllowPartialTails() { partial_tails_ = true; }
  bool partial_tails() const { return partial_tails_; }

  const ClusterView& files() const { return *files_; }
  const ClusterFormat& format() const { return format_; }
  bool checksums() const { return format_.checksums; }
  // The block number that a page's checksum is made with.
  uint32_t ChecksumBlock(uint32_t filenode, uint32_t fork,
                         uint32_t block) const;
  // Whether damage of that block of the fork at path is nobody's fault.
  bool Excuses(std::string_view path, uint32_t block) const {
    return excuse_ && excuse_(path, block);
  }
  const ClogDecoder& clog() const { return clog_; }
  const env::Result<ControlFile>& control() const { return control_; }
  // Requires: control().ok().
  WalLayout wal_layout() const;
  const HeapFile& Heap(uint32_t filenode) const;

 private:
  const ClusterView* files_;
  ClusterFormat format_;
  PageExcuse excuse_;
  bool partial_tails_ = false;
  ClogDecoder clog_;
  env::Result<ControlFile> control_;
  mutable std::map<uint32_t, HeapFile> heaps_;
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_CLUSTER_IMAGE_H_

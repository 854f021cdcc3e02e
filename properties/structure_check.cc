#include "properties/structure_check.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "properties/disk_catalog.h"
#include "properties/file_check.h"
#include "properties/heap_check.h"

namespace properties {
namespace {

using Catalog = std::map<uint32_t, DecodedRelation>;

// Columns of the heap at filenode; null if it is no heap or nobody knows.
const RelationShape* ShapeOf(const Catalog* catalog, uint32_t filenode) {
  if (filenode == kPgClassRel) return &PgClassShape();
  if (filenode == kPgAttributeRel) return &PgAttributeShape();
  if (catalog == nullptr) return nullptr;
  auto it = catalog->find(filenode);
  if (it == catalog->end() || it->second.kind != 'r') return nullptr;
  return &it->second.shape;
}

XidBounds BoundsOf(const ControlFile& control, const LogSummary& log,
                   Rest rest) {
  XidBounds xids;
  xids.oldest = control.checkpoint_copy.oldest_xid;
  xids.next = rest == Rest::kCrashed
                  ? log.next_xid
                  : static_cast<uint32_t>(control.checkpoint_copy.next_xid);
  xids.clog_is_current = rest != Rest::kCrashed;
  return xids;
}

void CheckVersionFiles(const ClusterView& files, Problems* problems) {
  for (const char* path : {"PG_VERSION", "base/5/PG_VERSION"}) {
    const std::string* text = files.Read(path);
    if (text == nullptr) {
      problems->Add("REC", path, "is missing");
    } else if (*text != "15\n") {
      problems->Add("REC", path,
                    "database files are incompatible with server: not "
                    "PostgreSQL version 15");
    }
  }
}

// Nothing if the catalog's own pages are still to be rewritten, or are damaged.
std::optional<Catalog> CatalogOf(const ClusterImage& image, Rest rest,
                                 const LogSummary& log, Problems* problems) {
  for (uint32_t filenode : {kPgClassRel, kPgAttributeRel}) {
    auto covered = log.blocks.lower_bound({filenode, 0});
    bool rewritten = covered != log.blocks.end() && covered->first == filenode;
    if (rest == Rest::kCrashed && rewritten) return std::nullopt;
  }
  env::Result<Catalog> catalog = CatalogOnDisk(image);
  if (catalog.ok()) return std::move(catalog).value();
  problems->Add("SCHEMA", "catalog",
                fmt::format("the committed rows do not fit: {}",
                            catalog.status().message()));
  return std::nullopt;
}

}  // namespace

void CheckStructure(const ClusterImage& image, const Catalog* catalog,
                    Rest rest, StructureReport* report) {
  const ControlFile& control = *image.control();
  Problems* problems = &report->problems;
  XidBounds xids = BoundsOf(control, report->log, rest);
  BlockFilter skip;
  if (rest == Rest::kCrashed) {
    skip = [report](uint32_t filenode, uint32_t block) {
      return report->log.blocks.count({filenode, block}) != 0;
    };
  }
  NewestPage newest;
  CheckControl(control, problems);
  auto is_heap = [catalog](uint32_t filenode) {
    return ShapeOf(catalog, filenode) != nullptr;
  };
  CheckRelationFiles(image, is_heap, skip, &newest, problems);
  for (const std::string& name : image.files().List("base/5")) {
    std::optional<RelationFileName> file = ParseRelationFileName(name);
    if (!file || !file->fork.empty() || file->segment != 0) continue;
    const RelationShape* shape = ShapeOf(catalog, file->filenode);
    if (shape == nullptr) continue;
    CheckHeap(image, file->filenode, shape, xids, skip, problems);
    const HeapFile& heap = image.Heap(file->filenode);
    newest.See(heap.newest_lsn, heap.newest_page);
    report->pages += heap.blocks;
    report->tuples += heap.tuples.size();
  }
  if (catalog != nullptr) {
    CheckOwners(image, *catalog, problems, &report->orphans);
  }
  CheckClogFiles(image, xids, problems);
  CheckLog(control, report->log, rest == Rest::kShutDown, newest, problems);
}

StructureReport CheckCluster(const ClusterView& files) {
  StructureReport report;
  CheckVersionFiles(files, &report.problems);
  const std::string* control_file = files.Read(kControlFilePath);
  env::Result<ControlFile> control =
      DecodeControlFile(control_file != nullptr ? *control_file : "");
  bool checksums = control.ok() && control->data_checksum_version != 0;
  ClusterImage image(&files, checksums);
  if (!control.ok()) {
    report.problems.Add("REC", kControlFilePath,
                        std::string(control.status().message()));
    // Without it only what every page promises can be judged.
    NewestPage ignored;
    CheckRelationFiles(
        image, [](uint32_t) { return false; }, nullptr, &ignored,
        &report.problems);
    return report;
  }
  Rest rest = control->state == ClusterState::kShutDown ? Rest::kShutDown
                                                        : Rest::kCrashed;
  report.rest = rest;
  report.log = ReadLog(image, rest == Rest::kCrashed);
  CheckWalFiles(image, control->wal_segment_bytes, &report.problems);
  std::optional<Catalog> catalog =
      CatalogOf(image, rest, report.log, &report.problems);
  CheckStructure(image, catalog ? &*catalog : nullptr, rest, &report);
  return report;
}

}  // namespace properties

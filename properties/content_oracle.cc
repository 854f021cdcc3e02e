#include "properties/content_oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace properties {
namespace {

constexpr size_t kMaxScanReports = 3;

std::string RelationSubject(const DecodedRelation& relation, uint64_t tid) {
  return fmt::format("relation \"{}\", {}", relation.name,
                     DescribeTid(relation.filenode, tid));
}

// The row as text, or why it is none.
std::string BodyToText(const DecodedRelation& relation, std::string_view body) {
  env::Result<Row> row = DecodeTupleBody(relation.shape, body);
  if (!row.ok()) return fmt::format("<{}>", row.status().message());
  return RowToText(relation.shape, *row);
}

std::string TextRowToString(const ContentOracle::TextRow& row) {
  std::string out = "(";
  for (size_t i = 0; i < row.size(); ++i) {
    if (i > 0) out += ", ";
    std::string cell = row[i].value_or("null");
    if (cell.size() > 40) {
      cell = fmt::format("{}...({} bytes)", cell.substr(0, 40), cell.size());
    }
    out += cell;
  }
  return out + ")";
}

}  // namespace

void ContentOracle::Report(const char* promise, std::string subject,
                           std::string message) {
  sink_->Report(promise, "content", std::move(subject), std::move(message),
                seq_);
}

void ContentOracle::Check(const ClusterImage& image, uint64_t seq) {
  seq_ = seq;
  missing_.clear();
  present_.clear();
  CheckClog(image);
  const env::Result<Catalog>& catalog = model_->catalog();
  if (!catalog.ok()) {
    Report("SCHEMA", "catalog",
           fmt::format("the committed catalog rows do not fit: {}",
                       catalog.status().message()));
    return;
  }
  for (const auto& [filenode, relation] : *catalog) {
    if (relation.kind == 'r') CheckRelation(image, relation);
  }
  ReportMissing();
}

void ContentOracle::CheckRelation(const ClusterImage& image,
                                  const DecodedRelation& relation) {
  const HeapFile& heap = image.Heap(relation.filenode);
  if (!heap.exists) {
    Report("REDO", fmt::format("relation \"{}\"", relation.name),
           fmt::format("its file {} is missing", HeapPath(relation.filenode)));
    return;
  }
  const RelationRows& rows = model_->Rows(relation.filenode);
  auto expected = rows.begin();
  for (const HeapTupleRef& found : heap.tuples) {
    if (!IsVisibleAtRest(found.header, image.clog())) continue;
    for (; expected != rows.end() && expected->first < found.tid; ++expected) {
      OnMissing(image, relation, expected->first, expected->second);
    }
    if (expected == rows.end() || expected->first != found.tid) {
      OnExtra(relation, found);
      continue;
    }
    CompareVersion(relation, found, expected->second);
    ++expected;
  }
  for (; expected != rows.end(); ++expected) {
    OnMissing(image, relation, expected->first, expected->second);
  }
}

void ContentOracle::CompareVersion(const DecodedRelation& relation,
                                   const HeapTupleRef& found,
                                   const RowVersion& row) {
  present_.insert(row.inserted_by);
  if (SameTupleData(found.body, row.body)) return;
  env::Result<Row> here = DecodeTupleBody(relation.shape, found.body);
  env::Result<Row> there = DecodeTupleBody(relation.shape, row.body);
  if (here.ok() && there.ok() && *here == *there) return;
  const Txn* txn = model_->Find(row.inserted_by);
  Report("REC", RelationSubject(relation, found.tid),
         fmt::format("{} wrote {}, found {}",
                     txn != nullptr ? txn->ToString() : "the template",
                     BodyToText(relation, row.body),
                     BodyToText(relation, found.body)));
}

void ContentOracle::OnMissing(const ClusterImage& image,
                              const DecodedRelation& relation, uint64_t tid,
                              const RowVersion& row) {
  std::string found = "no tuple is there";
  for (const HeapTupleRef& tuple : image.Heap(relation.filenode).tuples) {
    if (tuple.tid != tid) continue;
    const TupleHeader& h = tuple.header;
    found = image.clog().IsCommitted(h.xmin)
                ? fmt::format("{} removed it", model_->Describe(h.xmax))
                : fmt::format("a version of {}, which did not commit, is there",
                              model_->Describe(h.xmin));
  }
  const Txn* txn = model_->Find(row.inserted_by);
  std::string writer = txn != nullptr ? txn->ToString() : "the template";
  missing_.push_back(
      {row.inserted_by, RelationSubject(relation, tid),
       fmt::format("{} of {} is missing: {}", BodyToText(relation, row.body),
                   writer, found)});
}

void ContentOracle::OnExtra(const DecodedRelation& relation,
                            const HeapTupleRef& found) {
  const Txn* inserter = model_->FindByXid(found.header.xmin);
  for (const TxnKey& key : model_->decided()) {
    // One that was cut off is known under its own epoch only.
    if (inserter == nullptr && key.xid == found.header.xmin) {
      inserter = model_->Find(key);
    }
  }
  bool committed = inserter == nullptr || inserter->fate == TxnFate::kCommitted;
  std::string why;
  if (!committed) {
    why = fmt::format("of {}, which {}, is visible", inserter->ToString(),
                      inserter->fate == TxnFate::kLost
                          ? "was cut off by the crash"
                          : "did not commit");
  } else {
    why = fmt::format(
        "of {} is visible although a committed transaction "
        "removed it (xmax {})",
        model_->Describe(found.header.xmin), found.header.xmax);
  }
  Report("VIS", RelationSubject(relation, found.tid),
         fmt::format("{} {}", BodyToText(relation, found.body), why));
}

void ContentOracle::ReportMissing() {
  for (Missing& m : missing_) {
    bool part_of_it = m.by.epoch != kTemplateEpoch && present_.count(m.by) != 0;
    Report(part_of_it ? "ATOM" : "DUR", std::move(m.subject),
           std::move(m.message));
  }
}

// The commit log agrees with the cut, transaction by transaction.
void ContentOracle::CheckClog(const ClusterImage& image) {
  // An id that a crash took back is given out again: its last bearer counts.
  std::map<uint32_t, const Txn*> bearers;
  for (const auto& [key, txn] : model_->transactions()) {
    bearers[key.xid] = &txn;
  }
  for (const auto& [xid, bearer] : bearers) {
    const Txn& txn = *bearer;
    // Ids of lost ones may be given out again, those of this epoch still run.
    if (txn.fate == TxnFate::kLost || txn.key.epoch == model_->epoch()) {
      continue;
    }
    bool committed = image.clog().IsCommitted(xid);
    if (committed == (txn.fate == TxnFate::kCommitted)) continue;
    std::optional<ClogStatus> status = image.clog().StatusOf(xid);
    Report(committed ? "ATOM" : "DUR", txn.ToString(),
           fmt::format("{}, the commit log says {}",
                       txn.fate == TxnFate::kCommitted
                           ? "its commit record lies within the recovered log"
                           : "it did not commit",
                       status ? ClogStatusName(*status) : "nothing"));
  }
}

void ContentOracle::CompareScan(std::string_view relname,
                                std::vector<TextRow> rows, uint64_t seq) {
  seq_ = seq;
  if (model_->transactions().lower_bound({model_->epoch(), 0}) ==
      model_->transactions().end()) {
    CompareRows(*model_, relname, std::move(rows));
    return;
  }
  // A crash may still take asynchronous commits back: decide in a copy, one for
  // all scans between two events.
  if (now_ == nullptr || now_seq_ != seq) {
    auto now = std::make_unique<Model>(*model_);
    now->ApplyCut(UINT64_MAX);
    now_ = std::move(now);
    now_seq_ = seq;
  }
  CompareRows(*now_, relname, std::move(rows));
}

void ContentOracle::CompareRows(const Model& model, std::string_view relname,
                                std::vector<TextRow> rows) {
  const env::Result<Catalog>& catalog = model.catalog();
  if (!catalog.ok()) return;  // Check reports it
  const DecodedRelation* relation = nullptr;
  for (const auto& [filenode, r] : *catalog) {
    if (r.name == relname) relation = &r;
  }
  std::string subject = fmt::format("SELECT * FROM {}", relname);
  if (relation == nullptr) {
    Report("SCHEMA", subject, "no committed transaction created this table");
    return;
  }
  std::vector<TextRow> expected;
  for (const auto& [tid, version] : model.Rows(relation->filenode)) {
    env::Result<Row> row = DecodeTupleBody(relation->shape, version.body);
    if (!row.ok()) continue;
    TextRow text;
    for (size_t i = 0; i < row->size(); ++i) {
      if (relation->shape[i].dropped) continue;
      if ((*row)[i].form == ValueForm::kNull) {
        text.push_back(std::nullopt);
      } else {
        text.push_back(ValueToText(relation->shape[i], (*row)[i]));
      }
    }
    expected.push_back(std::move(text));
  }
  std::sort(expected.begin(), expected.end());
  std::sort(rows.begin(), rows.end());
  std::vector<TextRow> lacking;
  std::vector<TextRow> surplus;
  std::set_difference(expected.begin(), expected.end(), rows.begin(),
                      rows.end(), std::back_inserter(lacking));
  std::set_difference(rows.begin(), rows.end(), expected.begin(),
                      expected.end(), std::back_inserter(surplus));
  for (size_t i = 0; i < std::min(lacking.size(), kMaxScanReports); ++i) {
    Report("VIS", subject,
           fmt::format("does not return the committed row {}",
                       TextRowToString(lacking[i])));
  }
  for (size_t i = 0; i < std::min(surplus.size(), kMaxScanReports); ++i) {
    Report("VIS", subject,
           fmt::format("returns {}, which no committed row is",
                       TextRowToString(surplus[i])));
  }
}

}  // namespace properties

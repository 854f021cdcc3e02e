// ContentOracle: the bytes on disk hold the committed rows, no more, no less.
//
// After a recovery and after a clean shutdown every heap block of pg_class,
// pg_attribute and the user relations is decoded with the judges' decoders;
// the versions that the commit log makes visible must be, tid by tid and
// column by column, those of the model. Relations and columns come from the
// model's own catalog rows. A second judgement is black box: rows that a SELECT
// returned are compared with the model's, as text.
// Tags: DUR a committed version is missing; ATOM one is missing while another
// of the same transaction is there; VIS a version of nobody who committed, or
// a removed one, is there; REC a version with other columns; REDO a relation's
// file is missing; SCHEMA catalog rows that make no sense.
// Does not check: free space and visibility maps, dead versions, hint bits
// (StructureOracle), relations of other databases, scan order.
#ifndef MUSTH_PROPERTIES_CONTENT_ORACLE_H_
#define MUSTH_PROPERTIES_CONTENT_ORACLE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "properties/cluster_image.h"
#include "properties/decoders/catalog_decoder.h"
#include "properties/model.h"
#include "properties/oracle.h"

namespace properties {

class ContentOracle {
 public:
  // Both outlive the oracle.
  ContentOracle(const Model* model, VerdictSink* sink)
      : model_(model), sink_(sink) {}

  // Requires: no transaction runs, all pages are written, the model's cut is
  // applied.
  void Check(const ClusterImage& image, uint64_t seq);

  // The rows that a SELECT * returned, in any order. Requires: no transaction
  // runs; what has committed since the last cut counts as committed.
  using TextRow = std::vector<std::optional<std::string>>;
  void CompareScan(std::string_view relname, std::vector<TextRow> rows,
                   uint64_t seq);

 private:
  struct Missing {
    TxnKey by;
    std::string subject;
    std::string message;
  };
  void CheckRelation(const ClusterImage& image,
                     const DecodedRelation& relation);
  void CheckClog(const ClusterImage& image);
  void CompareRows(const Model& model, std::string_view relname,
                   std::vector<TextRow> rows);
  void OnMissing(const ClusterImage& image, const DecodedRelation& relation,
                 uint64_t tid, const RowVersion& row);
  void OnExtra(const DecodedRelation& relation, const HeapTupleRef& found);
  void CompareVersion(const DecodedRelation& relation,
                      const HeapTupleRef& found, const RowVersion& row);
  void ReportMissing();
  void Report(const char* promise, std::string subject, std::string message);

  const Model* model_;
  VerdictSink* sink_;
  uint64_t seq_ = 0;
  // Of the check under way.
  std::vector<Missing> missing_;
  std::set<TxnKey> present_;
  // The model with everything committed applied, as of an event; null: none.
  std::unique_ptr<const Model> now_;
  uint64_t now_seq_ = 0;
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_CONTENT_ORACLE_H_

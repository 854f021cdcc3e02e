// FakeNode: a database that does nothing but tell and write, for tests of the
// judges.
//
// It emits the events of a correct node and writes the files that such a node
// leaves behind. A test then breaks one thing and expects the judge to say so.
#ifndef MUSTH_PROPERTIES_FAKE_NODE_H_
#define MUSTH_PROPERTIES_FAKE_NODE_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "properties/cluster_image.h"
#include "properties/decoders/catalog_decoder.h"
#include "properties/decoders/test_cluster.h"
#include "properties/judge.h"

namespace properties {

class FakeNode {
 public:
  static constexpr uint32_t kRel = 16384;  // table t(a int4, b int4)

  explicit FakeNode(Judge* judge) : judge_(judge) {
    layout_.segment_bytes = 1 << 20;
    layout_.system_identifier = 99;
    wal_ = std::make_unique<TestWal>(&files_, layout_, layout_.segment_bytes);
    Checkpoint();
    PutCatalog();
    WriteFiles(kInProduction);
    judge->LoadTemplate(files_);
  }

  void Emit(env::EventKind kind, std::vector<uint64_t> a,
            std::string_view bytes = {}, env::TaskId task = 1) {
    env::Event e;
    e.kind = kind;
    for (size_t i = 0; i < a.size(); ++i) e.a[i] = a[i];
    e.bytes = bytes;
    e.task = task;
    e.seq = ++seq_;
    judge_->OnEvent(e);
  }

  uint32_t Begin(env::TaskId task = 1) {
    uint32_t xid = next_xid_++;
    Emit(env::EventKind::kXidAssigned, {xid, xid}, {}, task);
    return xid;
  }
  // Inserts (a, b); returns the tid.
  uint64_t Insert(uint32_t xid, int a, int b, env::TaskId task = 1) {
    std::string body = Int4Body({a, b});
    uint64_t tid = next_offset_++;
    Log(10, 0x00, xid);
    Emit(env::EventKind::kTupleInsert, {xid, kRel, tid, 0}, body, task);
    tuples_[tid] = {xid, 0, body};
    return tid;
  }
  void Delete(uint32_t xid, uint64_t tid) {
    Log(10, 0x10, xid);
    Emit(env::EventKind::kTupleDelete, {xid, kRel, tid, 0});
    tuples_[tid].xmax = xid;
  }
  uint64_t Update(uint32_t xid, uint64_t old_tid, int a, int b) {
    std::string body = Int4Body({a, b});
    uint64_t tid = next_offset_++;
    Log(10, 0x20, xid);
    Emit(env::EventKind::kTupleUpdate, {xid, kRel, old_tid, tid, 0}, body);
    tuples_[old_tid].xmax = xid;
    tuples_[tid] = {xid, 0, body};
    return tid;
  }
  // Writes the commit record; returns its end.
  uint64_t CommitRecord(uint32_t xid, bool sync = true) {
    uint64_t end = Log(1, 0x00, xid);
    Emit(env::EventKind::kCommitRecord, {xid, end, sync ? 1u : 0u});
    commit_end_[xid] = end;
    return end;
  }
  void Flush(uint64_t lsn) { Emit(env::EventKind::kWalFlush, {lsn}); }
  void Visible(uint32_t xid) { Emit(env::EventKind::kVisible, {xid}); }
  void Ack(uint32_t xid) {
    Emit(env::EventKind::kAcked, {xid, commit_end_[xid]});
  }
  void Commit(uint32_t xid) {
    uint64_t end = CommitRecord(xid);
    Flush(end);
    Visible(xid);
    Ack(xid);
  }
  void Abort(uint32_t xid) {
    Log(1, 0x20, xid);
    Emit(env::EventKind::kAbort, {xid});
  }

  // A crash after which the log is valid up to cut; leaves the files as a
  // correct recovery would.
  void CrashAndRecover(uint64_t cut) {
    Emit(env::EventKind::kCrash, {3, 1});
    judge_->OnCrash(sim::CrashKind::kProcess);
    Emit(env::EventKind::kRecoveryStart, {redo_, checkpoint_});
    for (auto it = log_.begin(); it != log_.end() && it->end <= cut; ++it) {
      Emit(env::EventKind::kRedo, {it->start, it->end, it->kind});
    }
    for (auto& [xid, end] : commit_end_) {
      if (end <= cut) committed_.insert(xid);
    }
    RewriteLog(cut);
    Emit(env::EventKind::kRecoveryEnd, {cut});
    Checkpoint();
    WriteFiles(kInProduction);
    Emit(env::EventKind::kReady, {});
  }
  void ShutDown() {
    for (auto& [xid, end] : commit_end_) committed_.insert(xid);
    Checkpoint();
    WriteFiles(kShutDown);
  }
  uint64_t wal_end() const { return wal_->end(); }

  static constexpr uint32_t kShutDown = 1;
  static constexpr uint32_t kInProduction = 6;

  // Writes control file, commit log and heap as they are now.
  void WriteFiles(uint32_t state) {
    files_.Put(kControlFilePath,
               TestControlFile(layout_, state, checkpoint_, checkpoint_body_));
    files_.At("pg_xact/0000").assign(kPageBytes, '\0');
    for (uint32_t xid : committed_) {
      SetClog(&files_, xid, ClogStatus::kCommitted);
    }
    TestPage page;
    for (uint64_t tid = 1; tid < next_offset_; ++tid) {
      const Tuple& t = tuples_[tid];
      page.Add(t.xmin, t.xmax, tid, t.body, t.infomask);
    }
    page.SetLsn(page_lsn_ != 0 ? page_lsn_ : checkpoint_);
    files_.Put(HeapPath(kRel), page.Bytes(0));
  }

  struct Tuple {
    uint32_t xmin = 0;
    uint32_t xmax = 0;
    std::string body;
    uint16_t infomask = 0;
  };
  MemoryCluster& files() { return files_; }
  std::map<uint64_t, Tuple>& tuples() { return tuples_; }
  std::set<uint32_t>& committed() { return committed_; }
  void set_page_lsn(uint64_t lsn) { page_lsn_ = lsn; }
  std::string wal_path() const {
    return "pg_wal/" + WalSegmentName(layout_, checkpoint_);
  }

 private:
  struct LogEntry {
    uint64_t start;
    uint64_t end;
    uint32_t kind;
    uint32_t xid;
    std::string main_data;
  };

  uint64_t Log(uint8_t rmid, uint8_t info, uint32_t xid,
               std::string main_data = std::string(8, '\0')) {
    uint64_t prev = wal_->last();
    uint64_t start = wal_->Append(rmid, info, xid, main_data);
    const std::string& segment =
        files_.At("pg_wal/" + WalSegmentName(layout_, start));
    uint32_t kind = static_cast<uint32_t>(rmid) << 8 | info;
    // Records of these tests never cross a page.
    std::string_view bytes = std::string_view(segment).substr(
        start % layout_.segment_bytes, wal_->end() - start);
    Emit(env::EventKind::kWalInsert, {start, wal_->end(), kind, xid, prev},
         bytes);
    log_.push_back({start, wal_->end(), kind, xid, main_data});
    return wal_->end();
  }

  void Checkpoint() {
    redo_ = log_.empty() ? layout_.segment_bytes + 40 : wal_->end();
    checkpoint_body_ = TestCheckpoint(redo_, next_xid_);
    uint64_t end = Log(0, 0x00, 0, checkpoint_body_);
    checkpoint_ = log_.back().start;
    Flush(end);
  }

  // Starts the log anew with the records that end at or before cut.
  void RewriteLog(uint64_t cut) {
    files_.Remove("pg_wal/" + WalSegmentName(layout_, checkpoint_));
    wal_ = std::make_unique<TestWal>(&files_, layout_, layout_.segment_bytes);
    std::vector<LogEntry> kept;
    for (LogEntry& entry : log_) {
      if (entry.end > cut) break;
      wal_->Append(static_cast<uint8_t>(entry.kind >> 8),
                   static_cast<uint8_t>(entry.kind), entry.xid,
                   entry.main_data);
      kept.push_back(std::move(entry));
    }
    log_ = std::move(kept);
  }

  void PutCatalog() {
    TestPage pg_class;
    TestPage pg_attribute;
    uint64_t class_tid = 0;
    uint64_t attribute_tid = 0;
    auto relation = [&](uint32_t oid, const char* name, uint32_t filenode,
                        const RelationShape& shape) {
      Row row(PgClassShape().size());
      for (size_t i = 0; i + 3 < row.size(); ++i) row[i] = NumberValue(0);
      row[0] = NumberValue(oid);
      row[1] = BytesValue(name);
      row[7] = NumberValue(filenode);
      row[16] = NumberValue('r');
      row[17] = NumberValue(static_cast<int64_t>(shape.size()));
      pg_class.Add(1, 0, ++class_tid, EncodeBody(PgClassShape(), row));
      for (size_t n = 0; n < shape.size() && n < 5; ++n) {
        Row att(PgAttributeShape().size());
        for (size_t i = 0; i + 4 < att.size(); ++i) att[i] = NumberValue(0);
        att[0] = NumberValue(oid);
        att[1] = BytesValue(shape[n].name);
        att[2] = NumberValue(shape[n].type);
        att[4] = NumberValue(shape[n].length);
        att[5] = NumberValue(static_cast<int64_t>(n) + 1);
        att[10] = NumberValue(shape[n].align);
        pg_attribute.Add(1, 0, ++attribute_tid,
                         EncodeBody(PgAttributeShape(), att));
      }
    };
    RelationShape shape = {{"a", 23, 4, 'i', -1, false},
                           {"b", 23, 4, 'i', -1, false}};
    relation(kRel, "t", kRel, shape);
    pg_class.SetLsn(checkpoint_);
    pg_attribute.SetLsn(checkpoint_);
    files_.Put(HeapPath(kPgClassRel), pg_class.Bytes(0));
    files_.Put(HeapPath(kPgAttributeRel), pg_attribute.Bytes(0));
  }

  Judge* judge_;
  MemoryCluster files_;
  WalLayout layout_;
  std::unique_ptr<TestWal> wal_;
  std::vector<LogEntry> log_;
  uint64_t redo_ = 0;
  uint64_t checkpoint_ = 0;
  std::string checkpoint_body_;
  uint64_t page_lsn_ = 0;
  uint32_t next_xid_ = 700;
  uint64_t next_offset_ = 1;
  uint64_t seq_ = 0;
  std::map<uint64_t, Tuple> tuples_;
  std::map<uint32_t, uint64_t> commit_end_;
  std::set<uint32_t> committed_;
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_FAKE_NODE_H_

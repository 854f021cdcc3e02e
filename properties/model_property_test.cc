// The model against a naive one, and the judge against files of random
// histories: silent on correct ones, loud on every broken one.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "properties/fake_node.h"
#include "properties/judge.h"
#include "properties/model.h"

namespace properties {
namespace {

// A history of single-row transactions on a small table, played on the fake
// node, with a naive account of what must be there: rows by key.
class Player {
 public:
  enum Action : uint8_t { kInsert, kUpdate, kDelete, kCrash, kActions };

  Player() : judge_(std::make_unique<Judge>(JudgeOptions())) {
    node_ = std::make_unique<FakeNode>(judge_.get());
  }

  void Step(uint8_t action, uint8_t pick, bool commit) {
    // A page holds about 200 such tuples.
    if (node_->tuples().size() > 150) return;
    if (action == kCrash) {
      node_->CrashAndRecover(node_->wal_end());
      judge_->OnRecovered(node_->files());
      return;
    }
    uint32_t xid = node_->Begin();
    std::map<int, Entry> rows = rows_;
    int value = ++counter_;
    if (action == kInsert || rows.empty()) {
      rows[value] = {node_->Insert(xid, value, value), value};
    } else {
      auto it = std::next(rows.begin(), pick % static_cast<int>(rows.size()));
      if (action == kDelete) {
        node_->Delete(xid, it->second.tid);
        rows.erase(it);
      } else {
        it->second = {node_->Update(xid, it->second.tid, it->first, value),
                      value};
      }
    }
    if (commit) {
      node_->Commit(xid);
      rows_ = std::move(rows);
    } else {
      node_->Abort(xid);
    }
  }
  // Ends with a crash that cuts nothing off.
  void Finish() { Step(kCrash, 0, true); }

  std::vector<std::string> ModelRows() const {
    std::vector<std::string> out;
    for (const auto& [tid, row] : judge_->model().Rows(FakeNode::kRel)) {
      out.push_back(row.body);
    }
    std::sort(out.begin(), out.end());
    return out;
  }
  std::vector<std::string> NaiveRows() const {
    std::vector<std::string> out;
    for (const auto& [key, entry] : rows_) {
      out.push_back(Int4Body({key, entry.value}));
    }
    std::sort(out.begin(), out.end());
    return out;
  }
  Judge& judge() { return *judge_; }
  FakeNode& node() { return *node_; }

 private:
  struct Entry {
    uint64_t tid;
    int value;
  };
  std::unique_ptr<Judge> judge_;
  std::unique_ptr<FakeNode> node_;
  std::map<int, Entry> rows_;
  int counter_ = 0;
};

using Steps = std::vector<std::tuple<uint8_t, uint8_t, bool>>;

rc::Gen<Steps> Histories() {
  return rc::gen::container<Steps>(rc::gen::tuple(
      rc::gen::weightedElement<uint8_t>({{4, uint8_t{Player::kInsert}},
                                         {4, uint8_t{Player::kUpdate}},
                                         {2, uint8_t{Player::kDelete}},
                                         {1, uint8_t{Player::kCrash}}}),
      rc::gen::arbitrary<uint8_t>(),
      rc::gen::weightedElement<bool>({{3, true}, {1, false}})));
}

RC_GTEST_PROP(ModelProperty, AgreesWithANaiveOneAndTheJudgeStaysSilent, ()) {
  Player player;
  for (const auto& [action, pick, commit] : *Histories()) {
    player.Step(action, pick, commit);
  }
  player.Finish();
  RC_ASSERT(player.ModelRows() == player.NaiveRows());
  RC_ASSERT(player.judge().TakeVerdicts().empty());
}

RC_GTEST_PROP(JudgeProperty, AnyFlippedBitOfAHeapPageIsSeen, ()) {
  Player player;
  for (const auto& [action, pick, commit] : *Histories()) {
    player.Step(action, pick, commit);
  }
  player.Finish();
  RC_ASSERT(player.judge().TakeVerdicts().empty());
  std::string& page = player.node().files().At(HeapPath(FakeNode::kRel));
  auto at = *rc::gen::inRange<size_t>(0, page.size());
  page[at] = static_cast<char>(page[at] ^ 1 << *rc::gen::inRange(0, 8));
  player.judge().OnRecovered(player.node().files());
  RC_ASSERT(!player.judge().TakeVerdicts().empty());
}

RC_GTEST_PROP(JudgeProperty, AnyCommitStatusThatChangesIsSeen, ()) {
  Player player;
  for (const auto& [action, pick, commit] : *Histories()) {
    player.Step(action, pick, commit);
  }
  player.Finish();
  auto& node = player.node();
  RC_PRE(!node.tuples().empty());
  auto pick = *rc::gen::inRange<size_t>(0, node.tuples().size());
  auto it = std::next(node.tuples().begin(), static_cast<long>(pick));
  ClogStatus now = node.committed().count(it->second.xmin) != 0
                       ? ClogStatus::kAborted
                       : ClogStatus::kCommitted;
  SetClog(&node.files(), it->second.xmin, now);
  player.judge().TakeVerdicts();
  player.judge().OnRecovered(node.files());
  RC_ASSERT(!player.judge().TakeVerdicts().empty());
}

RC_GTEST_PROP(JudgeProperty, AnAckedCommitAboveTheCutIsAlwaysReported, ()) {
  Player player;
  for (const auto& [action, pick, commit] : *Histories()) {
    player.Step(action, pick, commit);
  }
  player.judge().TakeVerdicts();
  uint64_t cut = player.node().wal_end();
  uint32_t xid = player.node().Begin();
  player.node().Insert(xid, -1, -1);
  player.node().Commit(xid);
  player.node().CrashAndRecover(cut);
  bool found = false;
  for (const Verdict& v : player.judge().TakeVerdicts()) {
    found |= v.promise == "DUR" && v.oracle == "ack";
  }
  RC_ASSERT(found);
}

}  // namespace
}  // namespace properties

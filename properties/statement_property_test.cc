// StatementOracle against a naive node: silent on every correct history, loud
// on every one with a mistake in it.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "properties/naive_node.h"

namespace properties {
namespace {

constexpr int kSessions = 3;

// (session, what it does, number) in turn.
using Steps = std::vector<std::tuple<int, int, uint32_t>>;

enum Action : int { kBegin, kBeginRepeatable, kEnd, kStatement, kCrash };

rc::Gen<Steps> Histories() {
  return rc::gen::scale(
      3.0, rc::gen::container<Steps>(rc::gen::tuple(
               rc::gen::inRange(0, kSessions),
               rc::gen::weightedElement<int>({{2, kBegin},
                                              {2, kBeginRepeatable},
                                              {4, kEnd},
                                              {16, kStatement},
                                              {1, kCrash}}),
               rc::gen::arbitrary<uint32_t>())));
}

NaiveNode::Op OpOf(uint32_t number) {
  using Kind = NaiveNode::Op::Kind;
  const Kind kinds[] = {Kind::kUpdate, Kind::kInsert, Kind::kUpdate,
                        Kind::kSelect, Kind::kDelete, Kind::kSum,
                        Kind::kUpdate, Kind::kInsert};
  NaiveNode::Op op;
  op.kind = kinds[number % 8];
  op.step = 1 + static_cast<int>(number / 8 % 5);
  op.modulus =
      op.kind == Kind::kDelete ? 5 : 1 + static_cast<int>(number / 40 % 3);
  op.remainder = static_cast<int>(number / 120) % op.modulus;
  if (op.remainder < 0) op.remainder += op.modulus;
  return op;
}

void Step(NaiveNode* node, int session, int action, uint32_t number) {
  if (action == kCrash) {
    node->Crash(number % 3);
    return;
  }
  if (node->Busy(session)) {
    node->Continue(session);
    return;
  }
  if (node->InBlock(session) && (action == kEnd || node->Failed(session))) {
    if (number % 4 == 0) {
      node->Rollback(session);
    } else {
      node->Commit(session);
    }
  } else if (!node->InBlock(session) && action <= kBeginRepeatable) {
    node->Begin(session, action == kBeginRepeatable);
  } else if (action == kStatement) {
    // Sometimes others run between the snapshot and the rest.
    node->Start(session, OpOf(number));
    if (number % 3 != 0) node->Continue(session);
  }
}

// Some rows to begin with, then the history.
void Play(NaiveNode* node, const Steps& steps) {
  for (int i = 0; i < 3; ++i) {
    node->Start(0, OpOf(1));
    node->Continue(0);
  }
  for (const auto& [session, action, number] : steps) {
    Step(node, session, action, number);
  }
  node->Crash(0);
}

std::string Text(const std::vector<Verdict>& verdicts) {
  std::string out;
  for (const Verdict& v : verdicts) out += v.ToString() + "\n";
  return out;
}

RC_GTEST_PROP(StatementOracle, IsSilentOnEveryHistoryOfANaiveNode, ()) {
  NaiveNode node;
  Play(&node, *Histories());
  if (!node.verdicts().empty()) RC_LOG() << Text(node.verdicts());
  RC_ASSERT(node.verdicts().empty());
  RC_ASSERT(node.oracle().stats().unpredicted.empty());
  RC_ASSERT(node.oracle().stats().predicted >= 3u);
}

// A mistake in a history is always told; a mistake of a kind is made in many.
void EveryMistakeIsTold(Mistake mistake) {
  int made = 0;
  bool kept = rc::check([mistake, &made]() {
    Steps steps = *Histories();
    NaiveNode node;
    node.set_mistake(mistake);
    Play(&node, steps);
    if (!node.mistake_made()) return;
    ++made;
    RC_ASSERT(!node.verdicts().empty());
  });
  EXPECT_TRUE(kept);
  EXPECT_GE(made, 3);
}

class EachMistake : public ::testing::TestWithParam<Mistake> {};

TEST_P(EachMistake, IsTold) { EveryMistakeIsTold(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    StatementOracle, EachMistake,
    ::testing::Values(Mistake::kValueFromSnapshot,
                      Mistake::kConditionNotRechecked, Mistake::kRowLeftOut,
                      Mistake::kRowTwice, Mistake::kWrongTag,
                      Mistake::kWrongRow, Mistake::kRowMissing,
                      Mistake::kSnapshotTooOld, Mistake::kSnapshotTooNew,
                      Mistake::kNoSerializationFailure,
                      Mistake::kNeedlessSerializationFailure,
                      Mistake::kNeedlessDeadlock, Mistake::kUnorderedRows));

}  // namespace
}  // namespace properties

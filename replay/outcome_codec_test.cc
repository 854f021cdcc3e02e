#include "replay/outcome_codec.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace replay {
namespace {

properties::RunOutcome GenOutcome() {
  properties::RunOutcome outcome;
  outcome.hash = *rc::gen::arbitrary<uint64_t>();
  outcome.harness_failure = *rc::gen::arbitrary<std::string>();
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i) {
    outcome.broken.push_back({"DUR", "ack", *rc::gen::arbitrary<std::string>(),
                              "m", *rc::gen::arbitrary<uint64_t>()});
  }
  outcome.stats.crashes = *rc::gen::arbitrary<uint64_t>();
  outcome.stats.crashed_in_recovery = *rc::gen::arbitrary<bool>();
  outcome.stats.virtual_ns = *rc::gen::arbitrary<int64_t>();
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i) {
    std::string key = *rc::gen::arbitrary<std::string>();
    outcome.stats.families[key].silent = *rc::gen::arbitrary<uint64_t>();
    outcome.stats.families[key].gap = *rc::gen::arbitrary<uint64_t>();
    outcome.stats.crash_points[key]["power loss"] = 3;
    outcome.stats.known_gaps[key] = 1;
    outcome.stats.judged[key] = 7;
    sim::Override o;
    o.stream = sim::Stream::kClock;
    o.scope_path = key;
    o.value = *rc::gen::arbitrary<uint64_t>();
    outcome.unmatched_overrides.push_back(o);
    outcome.unmet_directions.push_back("crash " + key);
  }
  outcome.unused_schedule = *rc::gen::arbitrary<std::vector<uint64_t>>();
  if (*rc::gen::arbitrary<bool>()) {
    auto record = std::make_shared<properties::RunRecord>();
    std::string text = *rc::gen::arbitrary<std::string>();
    record->profile = text;
    record->statements.push_back({3, "s3.q1", text, 17});
    record->knobs.emplace_back("shared_buffers", text);
    record->schedule.push_back({"w0", 4, "timer", text});
    record->crashes.push_back(
        {"power-loss", true, false, "s1", text, "s1.q2", 3, 9, 4, 2, {text}});
    record->books = properties::Books::kPairs;
    record->draws.push_back({sim::Stream::kClock, text, "x", 1, 2});
    record->timeline.push_back(
        {properties::TimelineEntry::Kind::kSwitch, "l", text});
    outcome.record = std::move(record);
  }
  outcome.last_events = *rc::gen::container<std::vector<std::string>>(
      rc::gen::arbitrary<std::string>());
  return outcome;
}

RC_GTEST_PROP(OutcomeCodecProperty, OutcomeRoundTrips, ()) {
  properties::RunOutcome outcome = GenOutcome();
  std::string bytes = EncodeOutcome(outcome);
  properties::RunOutcome back = DecodeOutcome(bytes).value();
  RC_ASSERT(EncodeOutcome(back) == bytes);
  RC_ASSERT(back.hash == outcome.hash);
  RC_ASSERT(back.harness_failure == outcome.harness_failure);
  RC_ASSERT(back.stats.virtual_ns == outcome.stats.virtual_ns);
  RC_ASSERT(back.last_events == outcome.last_events);
  RC_ASSERT(back.unmet_directions == outcome.unmet_directions);
  RC_ASSERT(back.unused_schedule == outcome.unused_schedule);
  RC_ASSERT((back.record == nullptr) == (outcome.record == nullptr));
  if (back.record != nullptr) {
    RC_ASSERT(back.record->schedule == outcome.record->schedule);
    RC_ASSERT(back.record->statements[0].sql ==
              outcome.record->statements[0].sql);
    RC_ASSERT(back.record->crashes[0].place ==
              outcome.record->crashes[0].place);
    RC_ASSERT(back.record->crashes[0].tasks ==
              outcome.record->crashes[0].tasks);
    RC_ASSERT(back.record->books == outcome.record->books);
    RC_ASSERT(back.record->timeline[0].text ==
              outcome.record->timeline[0].text);
  }
  RC_ASSERT(back.broken.size() == outcome.broken.size());
  RC_ASSERT(back.stats.known_gaps == outcome.stats.known_gaps);
  RC_ASSERT(back.stats.judged == outcome.stats.judged);
  RC_ASSERT(back.stats.crash_points == outcome.stats.crash_points);
}

RC_GTEST_PROP(OutcomeCodecProperty, CutBytesAreRefused, ()) {
  std::string bytes = EncodeOutcome(GenOutcome());
  bytes.resize(*rc::gen::inRange<size_t>(0, bytes.size()));
  RC_ASSERT(DecodeOutcome(bytes).status().code() == env::Code::kCorrupted);
}

TEST(OutcomeCodec, ErrorsTravelWithTheirCode) {
  env::Result<properties::RunOutcome> back = DecodeOutcome(
      EncodeOutcome(env::Status(env::Code::kInvalid, "t.sql:3: no")));
  ASSERT_FALSE(back.ok());
  EXPECT_EQ(back.status().code(), env::Code::kInvalid);
  EXPECT_EQ(back.status().message(), "t.sql:3: no");
}

}  // namespace
}  // namespace replay

#include "replay/script.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace replay {
namespace {

using Kind = properties::TimelineEntry::Kind;

TEST(Script, ShowsTimersEndsAndRestartsForWhatTheyAre) {
  properties::RunSpec spec;
  spec.schedule = {
      {"w0/h0/i0/postmaster/s1", 4, "timer", "s1.q1"},
      {"w0/h0/i0/postmaster/s1", 9, "w0/h0/i0/postmaster/s2", "s1.q2"}};
  auto record = std::make_shared<properties::RunRecord>();
  record->statements = {{0, "s0.q1", "CREATE TABLE t (id int4)", 0},
                        {1, "s1.q1", "SELECT 1", 0},
                        {2, "s2.q1", "SELECT 2", 0}};
  record->timeline = {
      {Kind::kSent, "s0.q1", ""},
      {Kind::kReady, "", ""},
      {Kind::kSent, "s1.q1", ""},
      // Of these the first is of the schedule, the second happens anyway.
      {Kind::kTimer, "w0/h0/i0/postmaster/s1@s1.q1 4", "of walwriter, at s1"},
      {Kind::kSwitch, "w0/h0/i0/postmaster/s1@s1.q1 4", "s1 > walwriter"},
      {Kind::kSwitch, "w0/h0/i0/postmaster/s1@s1.q2 9", "s1 > s2"},
      {Kind::kSent, "s2.q1", ""},
      {Kind::kAnswered, "s1.q1", "SELECT 1"},
      {Kind::kRestart, "", "a fast shutdown"},
      {Kind::kReady, "", ""},
      {Kind::kCrash, "", "power-loss"},
  };
  properties::RunOutcome outcome;
  outcome.broken.push_back({"DUR", "ack", "t", "lost", 1});
  outcome.record = record;
  std::string text = ScriptOf(spec, outcome);
  size_t from = text.find("SELECT 1;", text.find("session 2"));
  ASSERT_NE(from, std::string::npos) << text;
  EXPECT_EQ(text.substr(from),
            "SELECT 1;\n"
            "** TIMER: of walwriter, at s1\n"
            "** SWITCH: s1 > s2\n" +
                std::string(49, ' ') +
                "SELECT 2;\n"
                "--> SELECT 1\n"
                "** RESTART after a fast shutdown\n"
                "** the node has recovered and accepts sessions\n"
                "** CRASH: power-loss\n"
                "\nDUR broken for t\n  lost\n  seen by ack\n");
}

}  // namespace
}  // namespace replay

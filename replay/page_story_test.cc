#include "replay/page_story.h"

#include <gtest/gtest.h>

#include <string>

#include "properties/run.h"

namespace replay {
namespace {

TEST(PageStory, PagesAreNamedByTableOrFile) {
  PageName page = ParsePageName("base/5/16384_fsm:12").value();
  EXPECT_EQ(page.relation, "16384");
  EXPECT_EQ(page.fork, 1u);
  EXPECT_EQ(page.block, 12u);
  EXPECT_EQ(ParsePageName("accounts:0").value().relation, "accounts");
  for (const char* bad :
       {"accounts", "accounts:", ":3", "accounts:x", "a:-1"}) {
    EXPECT_FALSE(ParsePageName(bad).ok()) << bad;
  }
}

// One session, a checkpoint between two inserts, and a power loss that keeps
// what was synced.
constexpr char kSession[] =
    "CREATE TABLE t (a int4);\n"
    "INSERT INTO t VALUES (1);\n"
    "CHECKPOINT;\n"
    "INSERT INTO t VALUES (2);\n";

std::string StoryOf(const char* page) {
  properties::RunContext context;
  properties::RunSpec spec;
  spec.base = sim::Base::kZero;
  spec.sessions = {{1, kSession}};
  spec.directions = {"crash power-loss after s1.q4"};
  PageStory story(ParsePageName(page).value());
  properties::RunOptions options;
  options.observers = {&story};
  properties::RunOutcome outcome =
      properties::Run(context, spec, options).value();
  EXPECT_TRUE(outcome.broken.empty());
  std::string text;
  for (const std::string& line : story.lines()) text += line + "\n";
  return text;
}

// The phrases come in this order.
void ExpectInOrder(const std::string& text,
                   std::initializer_list<const char*> phrases) {
  size_t at = 0;
  for (const char* phrase : phrases) {
    size_t found = text.find(phrase, at);
    ASSERT_NE(found, std::string::npos) << phrase << " in:\n" << text;
    at = found + 1;
  }
}

TEST(PageStory, FollowsAPageThroughCheckpointCrashAndRedo) {
  ExpectInOrder(
      StoryOf("t:0"),
      {"table t is file", "inserts (0,1)", "initializes the page",
       "buffer is written", "file base/5/", "file write", "fsync of the file",
       "buffer is dirty", "inserts (0,2)", "full-page image", "POWER LOSS",
       "recovery begins at", "redo restores its image", "recovery ends at"});
}

TEST(PageStory, AnotherPagesStoryIsAnother) {
  std::string text = StoryOf("t:1");
  EXPECT_EQ(text.find("inserts"), std::string::npos);
  EXPECT_NE(text.find("POWER LOSS"), std::string::npos);
}

}  // namespace
}  // namespace replay

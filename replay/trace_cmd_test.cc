#include "replay/trace_cmd.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "replay/export_cmd.h"
#include "replay/user_files.h"
#include "sim/trace.h"

namespace replay {
namespace {

// Writes a trace of five events; the third depends on the seed.
env::Result<properties::RunOutcome> FakeRun(
    const properties::RunSpec& spec, const properties::RunOptions& options) {
  ASSIGN_OR_RETURN(auto trace,
                   sim::TraceWriter::Create(options.trace_path, "fake"));
  properties::RunOutcome outcome;
  for (uint64_t i = 0; i < 5; ++i) {
    env::Event event;
    event.kind = env::EventKind::kWalFlush;
    event.a[0] = 4096 * i + (i == 2 ? spec.seed : 0);
    event.seq = i;
    trace->OnEvent(event);
  }
  RETURN_IF_ERROR(trace->Finish());
  return outcome;
}

class TraceTest : public ::testing::Test {
 protected:
  std::string Trace(uint64_t seed, const char* name) {
    std::string path = ::testing::TempDir() + "/traces/" + name;
    Recipe recipe;
    recipe.spec.seed = seed;
    EXPECT_EQ(Capture([&](std::FILE* out) {
                return RunTrace(recipe, path, out, FakeRun);
              }),
              kExitKept);
    return path;
  }
  template <typename F>
  ExitCode Capture(F f) {
    std::string path = ::testing::TempDir() + "/trace_cmd_test.out";
    std::FILE* out = std::fopen(path.c_str(), "w");
    ExitCode code = f(out);
    std::fclose(out);
    text_ = ReadFile(path).value();
    return code;
  }
  ExitCode Diff(const std::string& a, const std::string& b) {
    return Capture([&](std::FILE* out) { return RunTraceDiff(a, b, out); });
  }
  std::string text_;
};

TEST_F(TraceTest, EveryEventIsPrintedAndTheHashAtTheEnd) {
  Trace(1, "a.trace");
  size_t lines = 0;
  for (char c : text_) lines += c == '\n';
  EXPECT_EQ(lines, 6u);
  EXPECT_NE(text_.find("hash "), std::string::npos);
}

TEST_F(TraceTest, DiffNamesTheFirstEventThatDiffers) {
  std::string a = Trace(1, "a.trace");
  std::string b = Trace(2, "b.trace");
  std::string c = Trace(1, "c.trace");
  EXPECT_EQ(Diff(a, c), kExitKept);
  EXPECT_NE(text_.find("equal"), std::string::npos);
  EXPECT_EQ(Diff(a, b), kExitHarness);
  EXPECT_NE(text_.find("first difference at event 2"), std::string::npos);
}

TEST_F(TraceTest, UnreadableTracesAreUsageErrors) {
  std::string a = Trace(1, "a.trace");
  EXPECT_EQ(Diff(a, a + ".missing"), kExitUsage);
  std::string other = ::testing::TempDir() + "/traces/no.trace";
  ASSERT_TRUE(WriteFile(other, "musth-recipe 1\n").ok());
  EXPECT_EQ(Diff(other, a), kExitUsage);
}

TEST_F(TraceTest, ExportAsksForTheRightImageAndReportsRefusals) {
  properties::RunOptions seen;
  Runner runner = [&](const properties::RunSpec&,
                      const properties::RunOptions& options)
      -> env::Result<properties::RunOutcome> {
    seen = options;
    if (options.export_crashed) {
      return env::Status(env::Code::kInvalid, "this run has no crash");
    }
    return properties::RunOutcome();
  };
  EXPECT_EQ(Capture([&](std::FILE* out) {
              return RunExport(Recipe(), "/d/x", false, out, runner);
            }),
            kExitKept);
  EXPECT_EQ(seen.export_dir, "/d/x");
  EXPECT_EQ(Capture([&](std::FILE* out) {
              return RunExport(Recipe(), "/d/x", true, out, runner);
            }),
            kExitUsage);
}

}  // namespace
}  // namespace replay

#include "sim/trace.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "sim/test_world.h"

namespace sim {
namespace {

std::string TempPath(const char* name) {
  return testing::TempDir() + "/" + name;
}

void Append(TraceWriter* writer, std::vector<env::Event>* events,
            env::Event event) {
  event.seq = events->size();
  events->push_back(event);
  writer->OnEvent(event);
}

// Events of every kind, with small and large arguments and bytes.
std::vector<env::Event> WriteSample(const std::string& path,
                                    const std::string& big) {
  auto writer = TraceWriter::Create(path, "seed 7");
  EXPECT_TRUE(writer.ok());
  std::vector<env::Event> events;
  for (int round = 0; round < 80; ++round) {
    for (int k = 0; k < static_cast<int>(env::EventKind::kCount); ++k) {
      env::Event e;
      e.kind = static_cast<env::EventKind>(k);
      e.host = static_cast<env::HostId>(round % 3);
      e.task = static_cast<env::TaskId>(round / 7);
      e.time_ns = int64_t{round} * round * 1'000'000;
      e.a[k % 6] = ~uint64_t{0} >> (round % 64);
      e.a[(k + 2) % 6] = static_cast<uint64_t>(round);
      if (k % 3 == 0) {
        e.bytes = std::string_view(big).substr(0, (round * 7 + k) % 2000);
      }
      Append(writer.value().get(), &events, e);
    }
  }
  EXPECT_TRUE(writer.value()->Finish().ok());
  return events;
}

std::string BigBytes() {
  std::string big(2000, '\0');
  for (size_t i = 0; i < big.size(); ++i) big[i] = static_cast<char>(i * 131);
  return big;
}

TEST(Trace, RoundTripsEveryField) {
  std::string big = BigBytes();
  std::string path = TempPath("round_trip");
  std::vector<env::Event> events = WriteSample(path, big);
  auto reader = TraceReader::Open(path);
  ASSERT_TRUE(reader.ok()) << reader.status().ToString();
  TraceReader& r = *reader.value();
  EXPECT_EQ(r.label(), "seed 7");
  RollingHash hash;
  for (const env::Event& expected : events) {
    hash.Add(expected);
    env::Event e;
    auto more = r.Next(&e);
    ASSERT_TRUE(more.ok()) << more.status().ToString();
    ASSERT_TRUE(*more);
    ASSERT_EQ(e.kind, expected.kind);
    ASSERT_EQ(e.host, expected.host);
    ASSERT_EQ(e.task, expected.task);
    ASSERT_EQ(e.time_ns, expected.time_ns);
    ASSERT_EQ(e.seq, expected.seq);
    for (int i = 0; i < 6; ++i) ASSERT_EQ(e.a[i], expected.a[i]);
    ASSERT_EQ(e.bytes, expected.bytes.substr(0, kKeptBytes));
    ASSERT_EQ(r.bytes_length(), expected.bytes.size());
    ASSERT_EQ(r.bytes_hash(),
              expected.bytes.empty() ? 0 : HashBytes(expected.bytes));
  }
  env::Event e;
  auto more = r.Next(&e);
  ASSERT_TRUE(more.ok());
  EXPECT_FALSE(*more);
  EXPECT_TRUE(r.complete());
  EXPECT_EQ(r.hash(), hash.value());
}

std::string ReadFile(const std::string& path) {
  std::FILE* f = std::fopen(path.c_str(), "rb");
  std::string out(1 << 20, '\0');
  out.resize(std::fread(out.data(), 1, out.size(), f));
  std::fclose(f);
  return out;
}

void WriteFile(const std::string& path, std::string_view bytes) {
  std::FILE* f = std::fopen(path.c_str(), "wb");
  EXPECT_EQ(std::fwrite(bytes.data(), 1, bytes.size(), f), bytes.size());
  std::fclose(f);
}

// Reads to the end or to an error.
env::Status Drain(const std::string& path, bool* complete) {
  *complete = false;
  ASSIGN_OR_RETURN(auto reader, TraceReader::Open(path));
  while (true) {
    env::Event e;
    ASSIGN_OR_RETURN(bool more, reader->Next(&e));
    if (!more) break;
  }
  *complete = reader->complete();
  return env::Status();
}

TEST(Trace, DamagedFilesAreReportedNeverTrusted) {
  std::string path = TempPath("damaged");
  WriteSample(path, BigBytes());
  std::string whole = ReadFile(path);
  bool complete = false;
  ASSERT_TRUE(Drain(path, &complete).ok());
  ASSERT_TRUE(complete);
  std::string cut_path = TempPath("damaged_copy");
  for (size_t cut = 0; cut < whole.size(); cut += whole.size() / 31) {
    WriteFile(cut_path, std::string_view(whole).substr(0, cut));
    static_cast<void>(Drain(cut_path, &complete));
    EXPECT_FALSE(complete) << cut;
  }
  for (size_t at = 0; at < whole.size(); at += whole.size() / 199) {
    std::string bad = whole;
    bad[at] = static_cast<char>(bad[at] ^ 0x55);
    WriteFile(cut_path, bad);
    static_cast<void>(Drain(cut_path, &complete));  // any answer, no crash
  }
  WriteFile(cut_path, "not a trace at all");
  EXPECT_EQ(Drain(cut_path, &complete).code(), env::Code::kCorrupted);
  EXPECT_EQ(Drain(TempPath("missing"), &complete).code(), env::Code::kNotFound);
}

// Runs a small world; `odd` is what one task tells in the middle.
uint64_t TracedRun(uint64_t seed, uint64_t odd, const std::string& path) {
  auto writer = TraceWriter::Create(path, "");
  EXPECT_TRUE(writer.ok());
  TestWorld w(seed);
  w->Subscribe(writer.value().get());
  for (int i = 0; i < 3; ++i) {
    w.Spawn("worker", [&w, i, odd] {
      for (uint64_t k = 0; k < 30; ++k) {
        PassPoint();
        bool special = i == 1 && k == 17;
        w->env(0).events->Emit(env::EventKind::kXidAssigned, special ? odd : k);
      }
    });
  }
  EXPECT_EQ(w->Run(), World::StopReason::kIdle);
  EXPECT_TRUE(writer.value()->Finish().ok());
  return w->hash();
}

TEST(Trace, ComparisonNamesTheFirstDivergingEvent) {
  std::string a = TempPath("a");
  std::string b = TempPath("b");
  EXPECT_EQ(TracedRun(5, 1000, a), TracedRun(5, 1000, b));
  auto same = CompareTraces(a, b);
  ASSERT_TRUE(same.ok());
  EXPECT_TRUE(same->same);

  EXPECT_NE(TracedRun(5, 1000, a), TracedRun(5, 1001, b));
  auto diff = CompareTraces(a, b, 3);
  ASSERT_TRUE(diff.ok());
  EXPECT_FALSE(diff->same);
  EXPECT_GT(diff->index, 17u);
  EXPECT_NE(diff->left.find("worker[2]"), std::string::npos) << diff->left;
  EXPECT_NE(diff->left.find("XidAssigned xid=1000"), std::string::npos);
  EXPECT_NE(diff->right.find("XidAssigned xid=1001"), std::string::npos);
  EXPECT_EQ(diff->before.size(), 3u);
}

TEST(Trace, ComparisonSeesATraceThatEndsEarly) {
  std::string a = TempPath("long");
  TracedRun(5, 1000, a);
  auto reader = TraceReader::Open(a);
  ASSERT_TRUE(reader.ok());
  std::string b = TempPath("short");
  auto writer = TraceWriter::Create(b, "");
  ASSERT_TRUE(writer.ok());
  for (int i = 0; i < 20; ++i) {
    env::Event e;
    ASSERT_TRUE(*reader.value()->Next(&e));
    writer.value()->OnEvent(e);
  }
  ASSERT_TRUE(writer.value()->Finish().ok());
  auto diff = CompareTraces(a, b);
  ASSERT_TRUE(diff.ok());
  EXPECT_FALSE(diff->same);
  EXPECT_EQ(diff->index, 20u);
  EXPECT_EQ(diff->right, "(end of trace)");
}

TEST(EventText, ShowsArgumentsByTheirMeaning) {
  TaskNames names;
  env::Event start;
  start.kind = env::EventKind::kTaskStart;
  start.task = 5;
  start.bytes = "backend";
  names.Learn(start);
  env::Event e;
  e.kind = env::EventKind::kTupleUpdate;
  e.task = 5;
  e.time_ns = 1'000'500;
  e.seq = 17;
  e.a[0] = 733;
  e.a[1] = 16384;
  e.a[2] = 2 << 16 | 3;
  e.a[3] = 2 << 16 | 4;
  e.bytes = std::string_view("\x01\x02", 2);
  EXPECT_EQ(EventLine(e, names),
            "     17        1.000500 h0 backend[5]       TupleUpdate xid=733 "
            "rel=16384 old=(2,3) new=(2,4) cid=0 [2 bytes 0102]");
  e.kind = env::EventKind::kWalFlush;
  e.a[0] = 0x1'0000'0028;
  e.bytes = {};
  EXPECT_NE(EventLine(e, names).find("WalFlush upto=1/28 a1=16384"),
            std::string::npos);
}

TEST(TraceTail, KeepsTheLastLines) {
  TraceTail tail(2);
  for (uint64_t i = 0; i < 5; ++i) {
    env::Event e;
    e.kind = env::EventKind::kVisible;
    e.seq = i;
    e.a[0] = 100 + i;
    tail.OnEvent(e);
  }
  std::string text = tail.Text();
  EXPECT_EQ(text.find("xid=102"), std::string::npos);
  EXPECT_LT(text.find("xid=103"), text.find("xid=104"));
}

}  // namespace
}  // namespace sim

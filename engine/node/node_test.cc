#include "engine/node/node.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "engine/common/sites.h"
#include "sim/disk.h"
#include "sim/world.h"

namespace engine {
namespace {

// One host with one node, driven by hand.
class NodeWorld : public sim::EventSubscriber {
 public:
  explicit NodeWorld(uint64_t seed)
      : choices_(seed), disk_(sim::DiskOptions()), world_(Options()) {
    host_ = world_.AddHost(EngineSites(), {});
    disk_.Attach(&world_.device_host(host_), nullptr);
    world_.AttachFiles(host_, &disk_);
    world_.Subscribe(this);
    config_.shared_buffers = 16;
    config_.wal_segment_size = 64 * 1024;
    config_.max_wal_size_bytes = 512 * 1024;
    config_.min_wal_size_bytes = 128 * 1024;
  }
  ~NodeWorld() override { world_.EndAllTasks(); }

  void OnEvent(const env::Event& event) override {
    if (event.kind == env::EventKind::kRedo) ++redone_;
    if (event.kind == env::EventKind::kWalFlush) ++flushes_;
  }
  // Of a node that has yet to be made.
  Config& config() { return config_; }
  // Times that the log became durable a little further.
  uint64_t flushes() const { return flushes_; }
  // Records replayed so far.
  uint64_t redone() const { return redone_; }

  Status InitDb(const InitDbRoom& room = {}) {
    Node node(&world_.env(host_), config_);
    Status status(env::Code::kInterrupted, "did not finish");
    world_.SpawnRoot(host_, "initdb", [&] { status = node.InitDb(room); });
    EXPECT_EQ(world_.Run(), sim::World::StopReason::kIdle) << Why();
    return status;
  }

  void Start() {
    node_ = std::make_unique<Node>(&world_.env(host_), config_);
    Node* node = node_.get();
    world_.SpawnRoot(host_, "postmaster", [node] { node->Main(); });
  }

  // Runs the statements in one session; returns rows of the last one, values
  // joined by '|', and "ERROR code" for errors.
  std::vector<std::string> Sql(const std::string& sql) {
    std::vector<std::string> out;
    node_->AddClient("client", [&](Session& session) {
      for (const StatementResult& result : session.ExecuteText(sql)) {
        out.clear();
        if (!result.status.ok()) out.push_back(result.status.ToString());
        for (const auto& row : result.rows) {
          std::string line;
          for (const auto& value : row) {
            if (!line.empty()) line += '|';
            line += value.value_or("NULL");
          }
          out.push_back(line);
        }
      }
      world_.RequestStop();
    });
    EXPECT_EQ(world_.Run(), sim::World::StopReason::kStopped) << Why();
    return out;
  }

  void Shutdown() {
    node_->RequestShutdown();
    EXPECT_EQ(world_.Run(), sim::World::StopReason::kIdle) << Why();
    EXPECT_EQ(node_->state(), NodeState::kStopped);
    node_.reset();
  }

  void Crash(sim::CrashKind kind) {
    world_.CrashHost(host_, kind);
    node_.reset();
    if (kind == sim::CrashKind::kPowerLoss) {
      disk_.PowerLoss();
    } else {
      disk_.ProcessCrash();
    }
  }

  Node& node() { return *node_; }
  sim::World& world() { return world_; }
  sim::Disk& disk() { return disk_; }

  std::string Why() {
    std::string why = world_.DescribeTasks();
    if (world_.check_failure() != nullptr) {
      why += world_.check_failure()->condition + " " +
             world_.check_failure()->file + ":" +
             std::to_string(world_.check_failure()->line);
    }
    if (node_ != nullptr) why += " " + node_->failure().ToString();
    return why;
  }

 private:
  sim::WorldOptions Options() {
    sim::WorldOptions options;
    options.choices = &choices_;
    options.max_steps = 5'000'000;
    return options;
  }

  sim::Choices choices_;
  sim::Disk disk_;
  sim::World world_;
  env::HostId host_ = 0;
  uint64_t redone_ = 0;
  uint64_t flushes_ = 0;
  Config config_;
  std::unique_ptr<Node> node_;
};

using Rows = std::vector<std::string>;

TEST(Node, FreshClusterServesAndShutsDownCleanly) {
  NodeWorld w(1);
  ASSERT_TRUE(w.InitDb().ok());
  w.Start();
  EXPECT_EQ(w.Sql("CREATE TABLE t (a int, b text)"), Rows());
  EXPECT_EQ(w.Sql("INSERT INTO t VALUES (1, 'x'), (2, NULL)"), Rows());
  EXPECT_EQ(w.Sql("SELECT a, b FROM t ORDER BY a"), (Rows{"1|x", "2|NULL"}));
  w.Shutdown();
  EXPECT_FALSE(w.disk().AnythingPending());
  w.Start();
  EXPECT_EQ(w.Sql("SELECT count(*) FROM t"), Rows{"2"});
  w.Shutdown();
}

TEST(Node, AcknowledgedRowsSurviveEveryKindOfCrash) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    NodeWorld w(seed);
    ASSERT_TRUE(w.InitDb().ok());
    w.Start();
    w.Sql("CREATE TABLE t (a int, b text)");
    int rows = 0;
    for (int round = 0; round < 4; ++round) {
      for (int i = 0; i < 5; ++i, ++rows) {
        w.Sql("INSERT INTO t VALUES (" + std::to_string(rows) +
              ", repeat('y', 500))");
      }
      if (round == 1) w.Sql("CHECKPOINT");
      if (round == 2) w.Sql("UPDATE t SET a = a + 100 WHERE a < 3");
      w.Crash(round % 2 == 0 ? sim::CrashKind::kPowerLoss
                             : sim::CrashKind::kProcess);
      w.Start();
      EXPECT_EQ(w.Sql("SELECT count(*) FROM t"), Rows{std::to_string(rows)})
          << "seed " << seed << " round " << round;
    }
    EXPECT_EQ(w.Sql("SELECT count(*) FROM t WHERE a >= 100"), Rows{"3"});
    w.Shutdown();
  }
}

TEST(Node, OpenTransactionIsGoneAfterACrash) {
  NodeWorld w(3);
  ASSERT_TRUE(w.InitDb().ok());
  w.Start();
  w.Sql("CREATE TABLE t (a int)");
  w.node().AddClient("open", [&](Session& session) {
    session.ExecuteText("BEGIN");
    session.ExecuteText("INSERT INTO t VALUES (1)");
    w.world().RequestStop();
    session.backend().env->tasks->Park(SITE_ID(postmaster_wait));
  });
  ASSERT_EQ(w.world().Run(), sim::World::StopReason::kStopped);
  EXPECT_EQ(w.Sql("SELECT count(*) FROM t"), Rows{"0"});
  w.Crash(sim::CrashKind::kPowerLoss);
  w.Start();
  EXPECT_EQ(w.Sql("SELECT count(*) FROM t"), Rows{"0"});
  w.Shutdown();
}

// The page address that a segment's first page names.
uint64_t FirstPageAddress(sim::Disk& disk, const std::string& segment) {
  std::string bytes;
  EXPECT_TRUE(disk.PeekFile("pg_wal/" + segment, &bytes)) << segment;
  uint64_t address = 0;
  if (bytes.size() >= 16) std::memcpy(&address, &bytes[8], sizeof(address));
  return address;
}

TEST(Node, ALogThatBeginsNearASegmentsEndGoesOnInARecycledOne) {
  constexpr uint64_t kSegment = 64 * 1024;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    NodeWorld w(seed);
    ASSERT_TRUE(w.InitDb({.wal_bytes = 8192}).ok());
    EXPECT_EQ(FirstPageAddress(w.disk(), "000000010000000000000003"),
              2 * kSegment);
    w.Start();
    w.Sql("CREATE TABLE t (a int, b text)");
    for (int i = 0; i < 30; ++i) {
      w.Sql("INSERT INTO t VALUES (1, '" + std::string(300, 'x') + "')");
    }
    EXPECT_EQ(FirstPageAddress(w.disk(), "000000010000000000000003"),
              3 * kSegment);
    w.Crash(sim::CrashKind::kPowerLoss);
    w.Start();
    EXPECT_EQ(w.Sql("SELECT count(*) FROM t"), Rows{"30"});
    w.Shutdown();
  }
}

TEST(Node, TheCommitLogGoesOnInANewPage) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    NodeWorld w(seed);
    ASSERT_TRUE(w.InitDb({.xids = 5}).ok());
    w.Start();
    w.Sql("CREATE TABLE t (a int)");
    for (int i = 0; i < 10; ++i) w.Sql("INSERT INTO t VALUES (1)");
    w.Crash(sim::CrashKind::kPowerLoss);
    w.Start();
    EXPECT_EQ(w.Sql("SELECT count(*) FROM t"), Rows{"10"});
    w.Shutdown();
    std::string bytes;
    ASSERT_TRUE(w.disk().PeekFile("pg_xact/0000", &bytes));
    EXPECT_EQ(bytes.size(), size_t{2} * BLCKSZ);
  }
}

// Flushes that 20 commits of four clients take.
uint64_t FlushesOfCommits(uint64_t seed, env::TimeNs commit_delay_ns,
                          int commit_siblings) {
  NodeWorld w(seed);
  w.config().commit_delay_ns = commit_delay_ns;
  w.config().commit_siblings = commit_siblings;
  EXPECT_TRUE(w.InitDb().ok());
  w.Start();
  w.Sql("CREATE TABLE t (a int)");
  uint64_t before = w.flushes();
  int done = 0;
  for (const char* name : {"c1", "c2", "c3", "c4"}) {
    w.node().AddClient(name, [&](Session& session) {
      for (int i = 0; i < 5; ++i)
        session.ExecuteText("INSERT INTO t VALUES (1)");
      if (++done == 4) w.world().RequestStop();
    });
  }
  EXPECT_EQ(w.world().Run(), sim::World::StopReason::kStopped) << w.Why();
  uint64_t flushes = w.flushes() - before;
  EXPECT_EQ(w.Sql("SELECT count(*) FROM t"), Rows{"20"});
  w.Shutdown();
  return flushes;
}

TEST(Node, CommitsThatWaitForOthersShareTheirFlush) {
  uint64_t plain = 0;
  uint64_t delayed = 0;
  uint64_t alone = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    plain += FlushesOfCommits(seed, 0, 0);
    delayed += FlushesOfCommits(seed, 10 * env::kMillisecond, 1);
    alone += FlushesOfCommits(seed, 10 * env::kMillisecond, 4);
  }
  EXPECT_LT(delayed, plain * 3 / 4);
  EXPECT_EQ(alone, plain);  // nobody has that many others
}

// What each of several clients was told, in order.
using Answers = std::vector<std::string>;

void Say(Session& session, const std::string& sql, Answers* answers) {
  for (const StatementResult& result : session.ExecuteText(sql)) {
    answers->push_back(result.status.ok() ? result.command_tag
                                          : result.status.ToString());
  }
}

constexpr char kCutOff[] =
    "57P01: terminating connection due to administrator command";

// One client has a transaction open and thinks, another waits for it, a third
// comes later: a fast shutdown waits for none of them.
TEST(Node, FastShutdownCutsClientsOffAndLeavesNothingToRedo) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    NodeWorld w(seed);
    ASSERT_TRUE(w.InitDb().ok());
    w.Start();
    w.Sql("CREATE TABLE t (a int)");
    w.Sql("INSERT INTO t VALUES (1)");
    Answers open;
    Answers waits;
    w.node().AddClient("open", [&](Session& session) {
      Say(session, "BEGIN", &open);
      Say(session, "UPDATE t SET a = 2", &open);
      w.world().RequestStop();
      while (!session.terminated()) {
        session.backend().env->tasks->Park(SITE_ID(postmaster_wait));
        Say(session, "SELECT 1", &open);
      }
      Say(session, "COMMIT", &open);
    });
    ASSERT_EQ(w.world().Run(), sim::World::StopReason::kStopped);
    w.node().AddClient("waits", [&](Session& session) {
      Say(session, "INSERT INTO t VALUES (7)", &waits);
      w.world().RequestStop();
      Say(session, "UPDATE t SET a = 3", &waits);
    });
    ASSERT_EQ(w.world().Run(), sim::World::StopReason::kStopped);
    w.node().RequestShutdown(ShutdownMode::kFast);
    w.node().AddClient("late", [](Session&) { FAIL() << "was let in"; });
    ASSERT_EQ(w.world().Run(), sim::World::StopReason::kIdle) << w.Why();
    EXPECT_EQ(w.node().state(), NodeState::kStopped);
    EXPECT_EQ(w.node().ClientsLeft(), 3);
    EXPECT_EQ(open, (Answers{"BEGIN", "UPDATE 1", kCutOff, kCutOff}));
    EXPECT_EQ(waits, (Answers{"INSERT 0 1", kCutOff}));
    EXPECT_FALSE(w.disk().AnythingPending());
    // Nothing of it is lost if the machine is switched off now.
    w.Crash(sim::CrashKind::kPowerLoss);
    uint64_t redone = w.redone();
    w.Start();
    EXPECT_EQ(w.Sql("SELECT a FROM t ORDER BY a"), (Rows{"1", "7"}));
    EXPECT_EQ(w.redone(), redone) << "seed " << seed;
    w.Shutdown();
  }
}

TEST(Node, ImmediateShutdownIsRecoveredFrom) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    NodeWorld w(seed);
    ASSERT_TRUE(w.InitDb().ok());
    w.Start();
    w.Sql("CREATE TABLE t (a int)");
    w.Sql("INSERT INTO t VALUES (1)");
    w.node().AddClient("open", [&](Session& session) {
      session.ExecuteText("BEGIN; INSERT INTO t VALUES (2)");
      w.world().RequestStop();
      session.backend().env->tasks->Park(SITE_ID(postmaster_wait));
      FAIL() << "outlived its node";
    });
    ASSERT_EQ(w.world().Run(), sim::World::StopReason::kStopped);
    w.node().RequestShutdown(ShutdownMode::kImmediate);
    ASSERT_EQ(w.world().Run(), sim::World::StopReason::kIdle) << w.Why();
    EXPECT_EQ(w.node().state(), NodeState::kStopped);
    w.Crash(sim::CrashKind::kProcess);
    uint64_t redone = w.redone();
    w.Start();
    EXPECT_EQ(w.Sql("SELECT a FROM t"), Rows{"1"});
    EXPECT_GT(w.redone(), redone);
    w.Shutdown();
  }
}

TEST(Node, DirectoryWithoutControlFileIsRefused) {
  NodeWorld w(4);
  w.Start();
  EXPECT_EQ(w.world().Run(), sim::World::StopReason::kIdle);
  EXPECT_EQ(w.node().state(), NodeState::kFailed);
  EXPECT_FALSE(w.node().failure().ok());
}

}  // namespace
}  // namespace engine

#include "engine/sql/test_node.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "engine/common/sites.h"

namespace engine {

std::string ResultText(const StatementResult& result) {
  std::string out;
  for (const std::string& notice : result.notices) out += notice + "\n";
  if (!result.status.ok()) return out + "ERROR " + result.status.ToString();
  for (const auto& row : result.rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) out += '|';
      out += row[i].value_or("NULL");
    }
    out += '\n';
  }
  return out + result.command_tag;
}

Config SqlTestNode::SmallConfig() {
  Config config;
  config.shared_buffers = 64;
  config.wal_segment_size = 64 * 1024;
  config.max_wal_size_bytes = 1 << 20;
  config.min_wal_size_bytes = 128 * 1024;
  return config;
}

sim::WorldOptions SqlTestNode::Options() {
  sim::WorldOptions options;
  options.choices = &choices_;
  options.max_steps = 50'000'000;
  return options;
}

SqlTestNode::SqlTestNode(uint64_t seed, Config config)
    : choices_(seed),
      disk_(sim::DiskOptions()),
      world_(Options()),
      config_(config) {
  host_ = world_.AddHost(EngineSites(), {});
  disk_.Attach(&world_.device_host(host_), nullptr);
  world_.AttachFiles(host_, &disk_);
  Node node(&world_.env(host_), config_);
  Status status(env::Code::kInterrupted, "initdb did not finish");
  world_.SpawnRoot(host_, "initdb", [&] { status = node.InitDb(); });
  EXPECT_EQ(world_.Run(), sim::World::StopReason::kIdle) << Why();
  EXPECT_TRUE(status.ok()) << status.ToString();
  world_.Subscribe(this);
  Start();
}

SqlTestNode::~SqlTestNode() {
  world_.EndAllTasks();
  world_.Unsubscribe(this);
}

void SqlTestNode::OnEvent(const env::Event& event) {
  bool of_transaction = event.kind == env::EventKind::kCommitRecord ||
                        event.kind == env::EventKind::kAbort ||
                        event.kind == env::EventKind::kVisible ||
                        event.kind == env::EventKind::kAcked;
  if (!of_transaction) return;
  events_.push_back(event);
  events_.back().bytes = {};  // they may not live on
}

void SqlTestNode::Start() {
  node_ = std::make_unique<Node>(&world_.env(host_), config_);
  Node* node = node_.get();
  world_.SpawnRoot(host_, "postmaster", [node] { node->Main(); });
}

void SqlTestNode::Run(std::function<void(Session&)> body) {
  node_->AddClient("client", [&](Session& session) {
    body(session);
    session.Close();
    world_.RequestStop();
  });
  ASSERT_EQ(world_.Run(), sim::World::StopReason::kStopped) << Why();
}

std::string SqlTestNode::Sql(const std::string& text) {
  std::string out;
  Run([&](Session& session) {
    for (const StatementResult& result : session.ExecuteText(text)) {
      if (!out.empty()) out += '\n';
      out += ResultText(result);
    }
  });
  return out;
}

// Hands statements to the sessions and watches whether they end.
struct SqlTestNode::Director {
  struct Slot {
    std::optional<std::string> next;  // to be executed
    bool busy = false;
    bool waited = false;
    std::string result;
  };
  std::map<int, Slot> slots;
  std::vector<std::string> lines;
  bool finished = false;

  // Reports what ended; true if session's statement is among it.
  void Report(int session, bool* ended) {
    for (auto& [number, slot] : slots) {
      if (slot.busy || slot.result.empty()) continue;
      lines.push_back(fmt::format("s{}{}: {}", number,
                                  slot.waited ? " (waited)" : "",
                                  std::exchange(slot.result, {})));
      slot.waited = false;
      if (number == session) *ended = true;
    }
  }

  // Lets the sessions run until the statement has ended or cannot go on.
  void Settle(env::Tasks* tasks, int session) {
    // Many more turns than a statement that can go on ever needs, and enough
    // after its end for others that it let go on.
    constexpr int kPatience = 20000;
    constexpr int kPatienceAfterEnd = 2000;
    bool ended = false;
    for (int turns = kPatience; turns > 0; --turns) {
      tasks->Yield(SITE_ID(sql_test_step));
      bool before = ended;
      Report(session, &ended);
      if (ended && !before) turns = kPatienceAfterEnd;
    }
    Slot& slot = slots[session];
    if (!slot.busy || slot.waited) return;
    slot.waited = true;
    lines.push_back(fmt::format("s{}: waits", session));
  }

  void Direct(env::Tasks* tasks, const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      Slot& slot = slots[step.session];
      EXPECT_FALSE(slot.busy) << "session " << step.session << " still waits";
      if (slot.busy) break;
      slot.busy = true;
      slot.next = step.sql;
      Settle(tasks, step.session);
    }
    finished = true;
  }

  void Serve(Session& session, Slot* slot) {
    env::Tasks* tasks = session.backend().env->tasks;
    while (!finished) {
      if (!slot->next.has_value()) {
        tasks->Yield(SITE_ID(sql_test_step));
        continue;
      }
      std::string sql = *std::exchange(slot->next, std::nullopt);
      std::string text;
      for (const StatementResult& result : session.ExecuteText(sql)) {
        if (!text.empty()) text += '\n';
        text += ResultText(result);
      }
      slot->result = std::move(text);
      slot->busy = false;
    }
    session.Close();
  }
};

std::vector<std::string> SqlTestNode::Steps(const std::vector<Step>& steps) {
  Director director;
  for (const Step& step : steps) director.slots[step.session];
  size_t serving = director.slots.size();
  for (auto& entry : director.slots) {
    Director::Slot* slot = &entry.second;
    node_->AddClient(fmt::format("s{}", entry.first), [&, slot](Session& s) {
      director.Serve(s, slot);
      if (--serving == 0) world_.RequestStop();
    });
  }
  world_.SpawnRoot(host_, "director",
                   [&] { director.Direct(world_.env(host_).tasks, steps); });
  EXPECT_EQ(world_.Run(), sim::World::StopReason::kStopped) << Why();
  return director.lines;
}

void SqlTestNode::PowerLossAndRestart() {
  world_.CrashHost(host_, sim::CrashKind::kPowerLoss);
  node_.reset();
  disk_.PowerLoss();
  Start();
}

void SqlTestNode::Shutdown() {
  node_->RequestShutdown();
  EXPECT_EQ(world_.Run(), sim::World::StopReason::kIdle) << Why();
  EXPECT_EQ(node_->state(), NodeState::kStopped);
}

std::string SqlTestNode::Why() {
  std::string why = world_.DescribeTasks();
  if (world_.check_failure() != nullptr) {
    why +=
        fmt::format("{} {}:{}", world_.check_failure()->condition,
                    world_.check_failure()->file, world_.check_failure()->line);
  }
  if (node_ != nullptr) why += " " + node_->failure().ToString();
  return why;
}

}  // namespace engine

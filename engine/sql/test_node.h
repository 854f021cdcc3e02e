// SqlTestNode: a whole node in a world of its own, driven by SQL text.
//
//   SqlTestNode node(seed);
//   node.Sql("CREATE TABLE t (a int)");
//   node.Steps({{1, "BEGIN"}, {2, "UPDATE t SET a = 1"}, ...});
#ifndef MUSTH_ENGINE_SQL_TEST_NODE_H_
#define MUSTH_ENGINE_SQL_TEST_NODE_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/node/node.h"
#include "sim/disk.h"
#include "sim/world.h"

namespace engine {

class SqlTestNode : public sim::EventSubscriber {
 public:
  // A fresh cluster, running.
  explicit SqlTestNode(uint64_t seed = 1, Config config = SmallConfig());
  ~SqlTestNode() override;

  static Config SmallConfig();

  // Runs body in one session of its own.
  void Run(std::function<void(Session&)> body);
  // Executes text in one session; the results as text, see ResultText().
  std::string Sql(const std::string& text);

  // Statements of several sessions (numbered from 1), one after the other. A
  // statement that waits is left waiting; its end is reported when it comes.
  // Lines: "s1: UPDATE 1", "s2: waits", "s2 (waited): ERROR 40001: ...".
  // Sessions end with the last step, rolled back.
  struct Step {
    int session;
    std::string sql;
  };
  std::vector<std::string> Steps(const std::vector<Step>& steps);

  void PowerLossAndRestart();
  void Shutdown();

  // How transactions ended, since the node started.
  const std::vector<env::Event>& events() const { return events_; }
  sim::Disk& disk() { return disk_; }

  void OnEvent(const env::Event& event) override;

 private:
  struct Director;
  sim::WorldOptions Options();
  void Start();
  std::string Why();

  sim::Choices choices_;
  sim::Disk disk_;
  sim::World world_;
  env::HostId host_ = 0;
  const Config config_;
  std::vector<env::Event> events_;
  std::unique_ptr<Node> node_;
};

// "ERROR 22012: division by zero", "UPDATE 3", or rows ("1|x|NULL" a line)
// before the tag; notices first.
std::string ResultText(const StatementResult& result);

}  // namespace engine

#endif  // MUSTH_ENGINE_SQL_TEST_NODE_H_

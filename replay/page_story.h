// PageStory: what happened to one page, from the log record that first touched
// it to what recovery made of it.
//
// A subscriber that reads every event of a run and keeps those about the page:
// records that refer to it, tuples, dirtying, write, fsync of its file, crashes
// and what they left of it, reads from disk, redo.
//
//   kFileRead after a power loss ── hash of its bytes ──► which write it shows
//
// Does not know: what happened before the first event (the cluster's template).
#ifndef MUSTH_REPLAY_PAGE_STORY_H_
#define MUSTH_REPLAY_PAGE_STORY_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/env/status.h"
#include "sim/event_text.h"
#include "sim/events.h"

namespace replay {

// "accounts:3", "16384:3", "base/5/16384_fsm:3".
struct PageName {
  std::string relation;  // a table's name or a file number
  uint32_t fork = 0;
  uint32_t block = 0;
};
// Errors: kInvalid: what was expected.
env::Result<PageName> ParsePageName(std::string_view text);

class PageStory : public sim::EventSubscriber {
 public:
  explicit PageStory(PageName page);

  void OnEvent(const env::Event& event) override;

  // One line for each thing that happened, oldest first.
  const std::vector<std::string>& lines() const { return lines_; }
  // The file number, if the relation was met.
  std::optional<uint32_t> rel_node() const { return rel_node_; }

 private:
  // A write of the page to its file.
  struct Version {
    uint64_t hash = 0;
    uint64_t seq = 0;
    bool synced = false;
  };

  void Tell(const env::Event& event, std::string what);
  bool IsPage(uint64_t page, uint64_t fork) const;
  void LearnTable(const env::Event& tuple);
  void LearnFile(const env::Event& event);
  void OnRecord(const env::Event& event);
  void OnTuple(const env::Event& event);
  void OnBuffer(const env::Event& event);
  void OnFile(const env::Event& event);
  void OnFileRead(const env::Event& event);
  void OnRecovery(const env::Event& event);
  void OnCrash(const env::Event& event);

  PageName page_;
  std::optional<uint32_t> rel_node_;
  std::string path_;           // of the file that holds the page
  std::set<uint64_t> inodes_;  // that the path has had
  std::vector<Version> versions_;
  bool after_power_loss_ = false;  // and not read since
  uint64_t sync_began_ = 0;        // as an event
  sim::TaskNames names_;
  std::vector<std::string> lines_;
};

}  // namespace replay

#endif  // MUSTH_REPLAY_PAGE_STORY_H_

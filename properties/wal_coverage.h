// WalCoverage: which pages the log can rebuild.
//
// A page that a record up to the end of recovery touches must be whole after
// it: either redo made it again or a checkpoint had written and synced it. Only
// what no surviving record knows of may show what a crash left there.
// Does not check: anything; it is asked by others. Pages of the template, whose
// records came before the first event, are not known to it.
#ifndef MUSTH_PROPERTIES_WAL_COVERAGE_H_
#define MUSTH_PROPERTIES_WAL_COVERAGE_H_

#include <compare>
#include <cstdint>
#include <map>

#include "sim/env/event_sink.h"

namespace properties {

class WalCoverage {
 public:
  void OnEvent(const env::Event& event);

  // True if a record that was inserted and not cut off since touches the page.
  bool Covers(uint32_t rel_node, uint32_t fork, uint32_t block) const {
    return first_end_.count({rel_node, fork, block}) != 0;
  }

 private:
  struct PageId {
    uint32_t rel_node = 0;
    uint32_t fork = 0;
    uint32_t block = 0;
    auto operator<=>(const PageId&) const = default;
  };
  // Where the first record that touches the page ends.
  std::map<PageId, uint64_t> first_end_;
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_WAL_COVERAGE_H_

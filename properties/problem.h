// Problem: something in a data directory at rest that its format forbids.
#ifndef MUSTH_PROPERTIES_PROBLEM_H_
#define MUSTH_PROPERTIES_PROBLEM_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace properties {

struct Problem {
  const char* promise = "";  // the promise that it breaks: "REC", "VIS", ...
  std::string subject;       // file, block, tuple or position
  std::string message;
};

// Where the verifiers put what they find.
class Problems {
 public:
  void Add(const char* promise, std::string subject, std::string message) {
    list_.push_back({promise, std::move(subject), std::move(message)});
  }
  const std::vector<Problem>& list() const { return list_; }
  bool empty() const { return list_.empty(); }

 private:
  std::vector<Problem> list_;
};

// The page with the greatest LSN among those looked at.
struct NewestPage {
  uint64_t lsn = 0;
  std::string name;
  void See(uint64_t page_lsn, std::string_view page_name) {
    if (page_lsn <= lsn) return;
    lsn = page_lsn;
    name = page_name;
  }
};

// Blocks of main forks, by relfilenode, that recovery will rewrite.
using BlockFilter = std::function<bool(uint32_t filenode, uint32_t block)>;

}  // namespace properties

#endif  // MUSTH_PROPERTIES_PROBLEM_H_

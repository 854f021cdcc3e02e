#include "sim/image_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "sim/env/check.h"

namespace sim {
namespace {

constexpr std::string_view kNewest = "newest";
// More cells than a disk of the simulation has.
constexpr uint32_t kMaxPath = 1'000'000;

std::string_view NextPart(std::string_view* text, char separator) {
  size_t end = text->find(separator);
  std::string_view part = text->substr(0, end);
  text->remove_prefix(end == std::string_view::npos ? text->size() : end + 1);
  return part;
}

bool ParseNumber(std::string_view text, uint32_t* value) {
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() &&
         !text.empty();
}

}  // namespace

std::string ImagePathToText(const ImagePath& path) {
  size_t size = path.size();
  while (size > 0 && path[size - 1] == 0) --size;
  if (size == 0) return std::string(kNewest);
  std::string text;
  for (size_t i = 0; i < size;) {
    size_t end = i;
    while (end < size && path[end] == path[i]) ++end;
    if (!text.empty()) text += ',';
    if (end - i > 1) text += fmt::format("{}*", end - i);
    text += fmt::format("{}", path[i]);
    i = end;
  }
  return text;
}

env::Result<ImagePath> ParseImagePath(std::string_view text) {
  ImagePath path;
  if (text == kNewest) return path;
  std::string_view rest = text;
  do {
    std::string_view part = NextPart(&rest, ',');
    uint32_t count = 1;
    uint32_t value = 0;
    size_t star = part.find('*');
    // Behind a comma there is another number.
    bool good =
        !text.ends_with(',') && (star == std::string_view::npos ||
                                 ParseNumber(part.substr(0, star), &count));
    if (star != std::string_view::npos) part.remove_prefix(star + 1);
    if (!good || !ParseNumber(part, &value) ||
        count > kMaxPath - std::min<size_t>(path.size(), kMaxPath)) {
      return env::Status(
          env::Code::kInvalid,
          fmt::format("expected \"newest\" or numbers like \"3*0,1\", found "
                      "\"{}\"",
                      text));
    }
    path.insert(path.end(), count, value);
  } while (!rest.empty());
  return path;
}

std::string ToString(const ImageCell& cell) {
  switch (cell.kind) {
    case ImageCell::Kind::kSector:
      return fmt::format("sector {} of inode {}", cell.index, cell.inode);
    case ImageCell::Kind::kSize:
      return fmt::format("size of inode {}", cell.inode);
    case ImageCell::Kind::kPrefix:
      return "directory operations";
    case ImageCell::Kind::kEntry:
      return fmt::format("directory operation {}", cell.index);
  }
  SIM_UNREACHABLE();
}

void ImageTree::Walk::OnCell(const ImageCell& cell, size_t picked,
                             std::span<const uint64_t> contents) {
  path_.push_back(static_cast<uint32_t>(contents.size() - 1 - picked));
  if (ended_) return;
  Node& node = tree_->nodes_[at_];
  if (!node.asked && !node.end) {
    node.asked = true;
    node.cell = cell;
  }
  if (!node.asked || node.cell != cell) {
    if (difference_.empty()) {
      difference_ = fmt::format("question {} is for {}, before it was {}",
                                path_.size(), ToString(cell),
                                node.asked ? ToString(node.cell) : "the end");
    }
    return;
  }
  auto [it, is_new] =
      node.next.try_emplace(contents[picked], tree_->nodes_.size());
  if (is_new) tree_->nodes_.emplace_back();
  at_ = it->second;
}

bool ImageTree::Walk::Known(const Disk& disk) const {
  size_t at = at_;
  while (true) {
    const Node& node = tree_->nodes_[at];
    if (node.end) return true;
    if (!node.asked) return false;
    std::optional<uint64_t> content = disk.Foresee(node.cell);
    if (!content.has_value()) return false;
    auto it = node.next.find(*content);
    if (it == node.next.end()) return false;
    at = it->second;
  }
}

bool ImageTree::Walk::End() {
  Node& node = tree_->nodes_[at_];
  if (node.asked && difference_.empty()) {
    difference_ = fmt::format("the end after {} questions, before it was {}",
                              path_.size(), ToString(node.cell));
  }
  ended_ = true;
  return !std::exchange(node.end, true);
}

size_t ImageEnumerator::Pick(const ImageCell& cell, size_t newest) const {
  auto it = picks_.find(cell);
  return it == picks_.end() ? newest : it->second;
}

void ImageEnumerator::OnCell(const ImageCell& cell, size_t picked,
                             std::span<const uint64_t> contents) {
  size_t at = asked_++;
  if (at < steps_.size()) {
    consistent_ &= steps_[at].cell == cell;
    return;
  }
  SIM_CHECK(picked == contents.size() - 1);
  Step step;
  step.cell = cell;
  step.newest = picked;
  for (size_t state = 0; state < contents.size(); ++state) {
    bool repeated = std::find(contents.begin() + state + 1, contents.end(),
                              contents[state]) != contents.end();
    if (repeated) {
      ++equal_states_;
    } else {
      step.states.push_back(state);
    }
  }
  picks_[cell] = picked;
  steps_.push_back(std::move(step));
}

bool ImageEnumerator::Next() {
  if (asked_ < steps_.size()) consistent_ = false;
  while (!steps_.empty()) {
    Step& step = steps_.back();
    step.states.pop_back();
    if (!step.states.empty()) {
      picks_[step.cell] = step.states.back();
      shared_ = steps_.size() - 1;
      return true;
    }
    picks_.erase(step.cell);
    steps_.pop_back();
  }
  return false;
}

ImagePath ImageEnumerator::Path() const {
  ImagePath path;
  for (const Step& step : steps_) {
    path.push_back(static_cast<uint32_t>(step.newest - step.states.back()));
  }
  return path;
}

size_t ImageReplay::Pick(const ImageCell& cell, size_t newest) const {
  auto it = picks_.find(cell);
  if (it != picks_.end()) return std::min(it->second, newest);
  // Asked in order, this is the cell of the next number.
  if (asked_ >= path_.size()) return newest;
  uint32_t back = path_[asked_];
  return back > newest ? newest : newest - back;
}

void ImageReplay::OnCell(const ImageCell& cell, size_t picked,
                         std::span<const uint64_t> contents) {
  size_t at = asked_++;
  if (at < path_.size() && path_[at] >= contents.size()) fits_ = false;
  picks_[cell] = picked;
}

}  // namespace sim

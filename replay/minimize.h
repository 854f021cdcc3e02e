// Minimize: makes a failing thing small by leaving parts of it out.
//
//            ┌──────────────── until a round leaves out nothing ───────────┐
//            ▼                                                             │
//   pass 1: parts 1..n ── all? ── halves? ── quarters? ... ── each alone ──┤
//   pass 2: ...                                                            │
//
// The algorithm knows states, parts by number, and whether a state still
// fails. A pass tries to leave out all its parts at once, then ranges of them,
// larger ones first, and ends with a sweep that left out none although it tried
// every part alone. When that is so for all passes in one round the state is
// 1-minimal: no single part can be left out.
//
// Which candidates are judged may depend on `width`; what comes out does not:
// of the candidates judged together the first one that fails counts, as if they
// had been tried one after the other. What did not fail once is not tried
// again.
#ifndef MUSTH_REPLAY_MINIMIZE_H_
#define MUSTH_REPLAY_MINIMIZE_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace replay {

template <typename State>
struct MinimizePass {
  std::string name;
  // The parts that may be left out or made simpler, by numbers that stay
  // theirs.
  std::function<std::vector<uint64_t>(const State&)> parts;
  // Ways to do without these parts, the best first. Each is simpler than the
  // state, so that taking one after the other comes to an end.
  std::function<std::vector<State>(const State&, const std::vector<uint64_t>&)>
      without;
};

template <typename State>
class Minimizer {
 public:
  struct Options {
    // Equal for states that need not be told apart.
    std::function<uint64_t(const State&)> key;
    // The first of the candidates that fails, and what it has become (without
    // parts that turned out to play no role); none if no candidate fails.
    std::function<std::optional<std::pair<size_t, State>>(
        const std::vector<State>&)>
        first_failing;
    // Whether to stop early.
    std::function<bool()> exhausted;
    // A pass begins, or ends; may be empty.
    std::function<void(const MinimizePass<State>&, const State&)> on_begin;
    std::function<void(const MinimizePass<State>&, const State&)> on_end;
    // So many candidates are judged together.
    size_t width = 1;
  };

  explicit Minimizer(Options options) : options_(std::move(options)) {}

  // Requires: start fails.
  State Run(State start, const std::vector<MinimizePass<State>>& passes) {
    one_minimal_ = false;
    State state = std::move(start);
    for (;;) {
      bool progress = false;
      for (const MinimizePass<State>& pass : passes) {
        if (options_.exhausted()) return state;
        if (options_.on_begin) options_.on_begin(pass, state);
        while (Sweep(pass, &state)) progress = true;
        if (options_.on_end) options_.on_end(pass, state);
      }
      if (options_.exhausted()) return state;
      if (!progress) break;
    }
    one_minimal_ = true;
    return state;
  }

  // Whether the last Run came to its end.
  bool one_minimal() const { return one_minimal_; }
  // Candidates that had been judged before.
  uint64_t memo_hits() const { return memo_hits_; }

 private:
  using Parts = std::vector<uint64_t>;
  // One way to do without a range of parts.
  struct Trial {
    Parts range;
    State candidate;
    uint64_t key;
  };

  // One sweep from all parts down to single ones. True: something was left out.
  bool Sweep(const MinimizePass<State>& pass, State* state) {
    bool progress = false;
    std::vector<Parts> stack;  // the next range last
    Parts all = pass.parts(*state);
    if (!all.empty()) stack.push_back(std::move(all));
    while (!stack.empty() && !options_.exhausted()) {
      std::vector<Trial> batch;
      std::vector<Parts> rest = stack;
      // What comes next if nothing of this batch fails.
      while (!rest.empty() && batch.size() < options_.width) {
        Parts range = std::move(rest.back());
        rest.pop_back();
        AddTrials(pass, *state, range, &batch);
        PushHalves(range, &rest);
      }
      std::vector<State> candidates;
      for (const Trial& trial : batch) candidates.push_back(trial.candidate);
      auto found = candidates.empty() ? std::nullopt
                                      : options_.first_failing(candidates);
      // A budget that ran out says nothing about a candidate.
      if (!found.has_value() && options_.exhausted()) return progress;
      size_t judged = found.has_value() ? found->first : batch.size();
      for (size_t i = 0; i < judged; ++i) tried_.insert(batch[i].key);
      if (!found.has_value()) {
        stack = std::move(rest);
        continue;
      }
      progress = true;
      const Parts taken = batch[judged].range;
      *state = std::move(found->second);
      stack = After(pass, *state, std::move(stack), taken);
    }
    return progress;
  }

  void AddTrials(const MinimizePass<State>& pass, const State& state,
                 const Parts& range, std::vector<Trial>* batch) {
    for (State& candidate : pass.without(state, range)) {
      uint64_t key = options_.key(candidate);
      if (tried_.count(key) != 0) {
        ++memo_hits_;
        continue;
      }
      batch->push_back({range, std::move(candidate), key});
    }
  }

  static void PushHalves(const Parts& range, std::vector<Parts>* stack) {
    if (range.size() < 2) return;
    auto middle = range.begin() + static_cast<std::ptrdiff_t>(range.size() / 2);
    stack->emplace_back(range.begin(), middle);
    stack->emplace_back(middle, range.end());
  }

  // The ranges that are left when `taken` is gone: those of the stack in front
  // of it as they are, and of what is still there.
  std::vector<Parts> After(const MinimizePass<State>& pass, const State& state,
                           std::vector<Parts> stack, const Parts& taken) {
    // Everything up to and including taken has been popped in a sequential run.
    while (!stack.empty()) {
      Parts range = std::move(stack.back());
      stack.pop_back();
      if (range == taken) break;
      PushHalves(range, &stack);
    }
    Parts present = pass.parts(state);
    std::sort(present.begin(), present.end());
    std::vector<Parts> out;
    for (const Parts& range : stack) {
      Parts left;
      for (uint64_t part : range) {
        if (std::binary_search(present.begin(), present.end(), part)) {
          left.push_back(part);
        }
      }
      if (!left.empty()) out.push_back(std::move(left));
    }
    return out;
  }

  Options options_;
  std::set<uint64_t> tried_;
  uint64_t memo_hits_ = 0;
  bool one_minimal_ = false;
};

}  // namespace replay

#endif  // MUSTH_REPLAY_MINIMIZE_H_

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
// again, nor is what could not be judged; but then nothing is claimed: a state
// is 1-minimal only if every single part was judged.
#ifndef MUSTH_REPLAY_MINIMIZE_H_
#define MUSTH_REPLAY_MINIMIZE_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
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

// What became of candidates that were judged together.
template <typename State>
struct MinimizeJudgement {
  // The first that fails, and what it has become (without parts that turned out
  // to play no role); none if no candidate fails.
  std::optional<std::pair<size_t, State>> failing;
  // Those before it that could not be judged.
  std::set<size_t> undecided;
};

template <typename State>
class Minimizer {
 public:
  struct Options {
    // Equal for states that need not be told apart.
    std::function<uint64_t(const State&)> key;
    std::function<MinimizeJudgement<State>(const std::vector<State>&)> judge;
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
      open_.clear();
      for (const MinimizePass<State>& pass : passes) {
        if (options_.exhausted()) return state;
        if (options_.on_begin) options_.on_begin(pass, state);
        while (Sweep(pass, &state)) progress = true;
        if (options_.on_end) options_.on_end(pass, state);
      }
      if (options_.exhausted()) return state;
      if (!progress) break;
    }
    one_minimal_ = open_.empty();
    return state;
  }

  // Whether the last Run came to its end, and no single part can be left out.
  bool one_minimal() const { return one_minimal_; }
  // Ways to do without a single part that nobody could judge, in the last
  // round.
  size_t undecided() const { return open_.size(); }
  // Candidates that had been met before.
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
      MinimizeJudgement<State> judgement = Judge(batch);
      // A budget that ran out says nothing about a candidate.
      if (!judgement.failing.has_value() && options_.exhausted()) {
        return progress;
      }
      Remember(batch, judgement);
      if (!judgement.failing.has_value()) {
        stack = std::move(rest);
        continue;
      }
      progress = true;
      const Parts taken = batch[judgement.failing->first].range;
      *state = std::move(judgement.failing->second);
      stack = After(pass, *state, std::move(stack), taken);
    }
    return progress;
  }

  MinimizeJudgement<State> Judge(const std::vector<Trial>& batch) {
    if (batch.empty()) return {};
    std::vector<State> candidates;
    for (const Trial& trial : batch) candidates.push_back(trial.candidate);
    return options_.judge(candidates);
  }

  // What did not fail, or was not judged.
  void Remember(const std::vector<Trial>& batch,
                const MinimizeJudgement<State>& judgement) {
    size_t judged =
        judgement.failing.has_value() ? judgement.failing->first : batch.size();
    for (size_t i = 0; i < judged; ++i) {
      bool decided = judgement.undecided.count(i) == 0;
      tried_.emplace(batch[i].key, decided);
      if (!decided && batch[i].range.size() == 1) open_.insert(batch[i].key);
    }
  }

  void AddTrials(const MinimizePass<State>& pass, const State& state,
                 const Parts& range, std::vector<Trial>* batch) {
    for (State& candidate : pass.without(state, range)) {
      uint64_t key = options_.key(candidate);
      auto known = tried_.find(key);
      if (known != tried_.end()) {
        ++memo_hits_;
        if (!known->second && range.size() == 1) open_.insert(key);
        continue;
      }
      // The same candidate earlier in the batch will do for both.
      bool again =
          std::any_of(batch->begin(), batch->end(),
                      [key](const Trial& trial) { return trial.key == key; });
      if (again) {
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
  std::map<uint64_t, bool> tried_;  // keys of what did not fail: was it judged?
  std::set<uint64_t> open_;         // of single parts, not judged, this round
  uint64_t memo_hits_ = 0;
  bool one_minimal_ = false;
};

}  // namespace replay

#endif  // MUSTH_REPLAY_MINIMIZE_H_

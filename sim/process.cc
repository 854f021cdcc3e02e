#include "sim/process.h"

#include <fmt/format.h>

#include <utility>

#include "sim/env/check.h"

#ifdef MUSTH_ASAN
#include <sanitizer/lsan_interface.h>
#endif

namespace sim {
namespace {

// What ends a task from its suspension point. Not a std::exception, so that
// no handler for those takes it.
struct ProcessCrashed {};

// A lost task's frames still use it.
void Leak(std::unique_ptr<Task> task) {
#ifdef MUSTH_ASAN
  __lsan_ignore_object(task.get());
#endif
  static_cast<void>(task.release());
}

}  // namespace

TaskTable::~TaskTable() {
  for (std::unique_ptr<Task>& task : tasks_) {
    if (task->state == TaskState::kLost) Leak(std::move(task));
  }
}

Task* TaskTable::Add(env::HostId host, env::TaskId parent,
                     const Scope& parent_scope, std::string_view name,
                     std::function<void()> body) {
  auto task = std::make_unique<Task>();
  task->id = static_cast<env::TaskId>(tasks_.size() + 1);
  task->parent = parent;
  task->host = host;
  task->name = std::string(name);
  task->body = std::move(body);
  std::string label = ScopeLabel(name);
  uint64_t ordinal =
      namesakes_[Mix(parent_scope.key(), env::SiteHash(label))]++;
  if (ordinal != 0) label += fmt::format(".{}", ordinal);
  task->scope = parent_scope.Child(label);
  tasks_.push_back(std::move(task));
  ++live_count_;
  return tasks_.back().get();
}

Task* TaskTable::Find(env::TaskId id) {
  if (id == env::kNoTask || id > tasks_.size()) return nullptr;
  return tasks_[id - 1].get();
}

const Task* TaskTable::Find(env::TaskId id) const {
  if (id == env::kNoTask || id > tasks_.size()) return nullptr;
  return tasks_[id - 1].get();
}

std::vector<Task*> TaskTable::LiveOf(env::HostId host) {
  std::vector<Task*> out;
  for (auto& task : tasks_) {
    if (task->live() && task->host == host) out.push_back(task.get());
  }
  return out;
}

std::vector<Task*> TaskTable::Live() {
  std::vector<Task*> out;
  for (auto& task : tasks_) {
    if (task->live()) out.push_back(task.get());
  }
  return out;
}

void TaskTable::MarkExited(Task* task) {
  SIM_CHECK(task->live());
  task->state = TaskState::kExited;
  task->fiber.reset();
  task->body = nullptr;
  task->exited_children.clear();
  --live_count_;
}

void TaskTable::MarkLost(Task* task) {
  SIM_CHECK(task->live());
  task->state = TaskState::kLost;
  task->fiber->Abandon();
  --live_count_;
}

void ThrowProcessCrashed() { throw ProcessCrashed(); }

bool RunBody(const std::function<void()>& body) {
  try {
    body();
    return true;
  } catch (const ProcessCrashed&) {
    return false;
  }
}

std::string ScopeLabel(std::string_view name) {
  std::string label(name);
  for (char& c : label) {
    if (c == ' ' || c == '/' || c == '.') c = '_';
  }
  return label;
}

}  // namespace sim

#include "sim/fiber.h"

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <boost/context/detail/fcontext.hpp>
#include <cstring>

#include "sim/env/check.h"

#ifdef MUSTH_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/lsan_interface.h>
#define MUSTH_NO_ASAN __attribute__((no_sanitize("address")))
#else
#define MUSTH_NO_ASAN
#endif

#ifdef MUSTH_TSAN
#define MUSTH_NO_TSAN __attribute__((no_sanitize("thread")))
#else
#define MUSTH_NO_TSAN
#endif

namespace sim {
namespace {

using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

size_t PageSize() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

// Bytes left free at the top of a stack, different for neighbours: otherwise
// the hot frames of all fibers would compete for the same few cache sets.
size_t Colour(const char* stack) {
  return (reinterpret_cast<uintptr_t>(stack) / PageSize() * 5 % 16) * 256;
}

void Unpoison([[maybe_unused]] char* stack) {
#ifdef MUSTH_ASAN
  // Frames that were left by jumping away never cleared their red zones.
  __asan_unpoison_memory_region(stack, StackPool::StackSize());
#endif
}

// What an abandoned fiber's frames point to is not a leak.
void KeepReachable([[maybe_unused]] const char* begin,
                   [[maybe_unused]] size_t size) {
#ifdef MUSTH_ASAN
  __lsan_register_root_region(begin, size);
#endif
}

}  // namespace

size_t StackPool::StackSize() {
#ifdef MUSTH_ASAN
  return 256 * 1024;
#else
  return 128 * 1024;
#endif
}

StackPool::StackPool() {
#ifdef MUSTH_TSAN
  owner_ = __tsan_get_current_fiber();
#endif
}

StackPool::~StackPool() {
  for (char* stack : free_) {
    munmap(stack - PageSize(), StackSize() + PageSize());
  }
}

char* StackPool::Take() {
  if (!free_.empty()) {
    char* stack = free_.back();
    free_.pop_back();
    Unpoison(stack);
    return stack;
  }
  void* map =
      mmap(nullptr, StackSize() + PageSize(), PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  SIM_CHECK(map != MAP_FAILED);
  SIM_CHECK(mprotect(map, PageSize(), PROT_NONE) == 0);
  ++mapped_;
  return static_cast<char*>(map) + PageSize();
}

void StackPool::Give(char* stack) {
#ifdef MUSTH_TSAN
  // What the old fiber did on it is no race with the next one.
  munmap(stack - PageSize(), StackSize() + PageSize());
  --mapped_;
#else
  free_.push_back(stack);
#endif
}

void StackPool::Abandon(char* stack) {
  SIM_CHECK(mapped_ > 0);
  --mapped_;
  KeepReachable(stack, StackSize());
}

// The thread's own code is the world's: not judged.
Fiber::Fiber() : exception_state_(abi::__cxa_get_globals()) {
  env::RaceIgnoreBegin();
#ifdef MUSTH_TSAN
  tsan_ = __tsan_get_current_fiber();
#endif
}

Fiber::Fiber(StackPool* pool, Entry entry, void* arg)
    : exception_state_(abi::__cxa_get_globals()),
      pool_(pool),
      stack_(pool->Take()),
      entry_(entry),
      arg_(arg) {
  MakeContext();
}

Fiber::Fiber(StackPool* pool, Entry entry, void* arg, uint8_t poison)
    : exception_state_(abi::__cxa_get_globals()),
      pool_(pool),
      stack_(pool->Take()),
      entry_(entry),
      arg_(arg) {
  std::memset(stack_, poison, StackPool::StackSize());
  MakeContext();
}

void Fiber::MakeContext() {
  bottom_ = stack_;
  size_ = StackPool::StackSize() - Colour(stack_);
  context_ = make_fcontext(stack_ + size_, size_, &Fiber::Start);
  MakeTsanFiber();
}

// Made in the name of the thread's own fiber, so that nothing is ordered
// between the new fiber and whoever happens to run. Begins unwatched.
void Fiber::MakeTsanFiber() {
#ifdef MUSTH_TSAN
  void* running = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(pool_->owner_, __tsan_switch_to_fiber_no_sync);
  tsan_ = __tsan_create_fiber(0);
  __tsan_switch_to_fiber(tsan_, __tsan_switch_to_fiber_no_sync);
  env::RaceIgnoreBegin();
  __tsan_switch_to_fiber(running, __tsan_switch_to_fiber_no_sync);
#endif
}

// The first code on a new stack.
void Fiber::Start(transfer_t from) {
  auto* left = static_cast<Fiber*>(from.data);
  Fiber* self = left->target_;
  left->context_ = from.fctx;
#ifdef MUSTH_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &left->bottom_, &left->size_);
#endif
  std::memset(self->exception_state_, 0, kExceptionStateSize);
  self->entry_(self->arg_);
  SIM_UNREACHABLE();
}

Fiber::~Fiber() {
  if (pool_ == nullptr) env::RaceIgnoreEnd();
  if (stack_ == nullptr) return;
  SIM_CHECK(!suspended_);
#ifdef MUSTH_TSAN
  __tsan_destroy_fiber(tsan_);
#endif
  pool_->Give(stack_);
}

// Not instrumented: the first call frees the fake stack it would run on, and
// between the end of its ignores and the switch nothing may be judged.
MUSTH_NO_ASAN MUSTH_NO_TSAN void Fiber::ExitTo(Fiber* to) {
  target_ = to;
  suspended_ = false;
#ifdef MUSTH_ASAN
  __sanitizer_start_switch_fiber(nullptr, to->bottom_, to->size_);
#endif
#ifdef MUSTH_TSAN
  env::RaceIgnoreEnd();
  __tsan_switch_to_fiber(to->tsan_, __tsan_switch_to_fiber_no_sync);
#endif
  jump_fcontext(to->context_, this);
  SIM_UNREACHABLE();
}

void Fiber::Abandon() {
  SIM_CHECK(stack_ != nullptr && suspended_);
  pool_->Abandon(stack_);
#ifdef MUSTH_ASAN
  // The frames proper live in the fake stack where use after return is looked
  // for: eleven size classes of at most a stack each, and their flags. Leak
  // checkers skip what is not mapped.
  if (fake_stack_ != nullptr) {
    KeepReachable(static_cast<char*>(fake_stack_), 16 * StackPool::StackSize());
  }
#endif
  stack_ = nullptr;
  suspended_ = false;
}

}  // namespace sim

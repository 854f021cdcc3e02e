// Fibers: separate stacks on one OS thread, switched by hand.
//
// Boost's fcontext moves the registers; around it each switch keeps what the
// C++ runtime ties to the thread apart per fiber: the 16 bytes of exception
// state and, under AddressSanitizer, the bounds of the stack and its fake
// stack. To ThreadSanitizer a fiber is a thread, and a switch orders nothing
// (sim/env/race.h). A suspended fiber is never destroyed from outside: it is
// resumed to unwind itself, or abandoned for good.
//
//   low                                                              high
//   | guard page | free, grows downwards ◄──              frames | entry |
#ifndef MUSTH_SIM_FIBER_H_
#define MUSTH_SIM_FIBER_H_

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "sim/env/race.h"

#if defined(__SANITIZE_ADDRESS__)
#define MUSTH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MUSTH_ASAN 1
#endif
#endif
#ifdef MUSTH_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

namespace sim {

// Guarded stacks, kept for reuse. Owned by whoever runs worlds in a thread;
// outlives every fiber that took a stack from it.
class StackPool {
 public:
  // Usable bytes of a stack. Units: bytes.
  static size_t StackSize();

  StackPool();
  ~StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  // Returns the lowest usable address of a stack.
  char* Take();
  void Give(char* stack);

  // Stacks mapped and neither returned to the system nor abandoned.
  size_t mapped() const { return mapped_; }
  // Keeps a stack that is in use mapped for ever, visible to leak checkers.
  void Abandon(char* stack);

 private:
  friend class Fiber;

  std::vector<char*> free_;
  size_t mapped_ = 0;
#ifdef MUSTH_TSAN
  void* owner_;  // the thread's own fiber; makes all others
#endif
};

class Fiber {
 public:
  using Entry = void (*)(void* arg);

  // The fiber of the code that runs already (a thread's own stack).
  Fiber();
  // A fiber that will run entry(arg). entry does not return: it leaves by
  // ExitTo().
  Fiber(StackPool* pool, Entry entry, void* arg);
  // As above, with the stack filled with `poison` first.
  Fiber(StackPool* pool, Entry entry, void* arg, uint8_t poison);
  // Requires: never entered, exited, or abandoned.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Leaves the running fiber (*this) for `to`; returns when someone switches
  // back. Requires: both were made by the calling OS thread.
  // Inline, because each return between here and the code that suspends is
  // mispredicted after the stacks changed.
  void SwitchTo(Fiber* to) {
    unsigned char exceptions[kExceptionStateSize];
    std::memcpy(exceptions, exception_state_, sizeof(exceptions));
    target_ = to;
    suspended_ = true;
#ifdef MUSTH_ASAN
    __sanitizer_start_switch_fiber(&fake_stack_, to->bottom_, to->size_);
#endif
#ifdef MUSTH_TSAN
    __tsan_switch_to_fiber(to->tsan_, __tsan_switch_to_fiber_no_sync);
#endif
    boost::context::detail::transfer_t from =
        boost::context::detail::jump_fcontext(to->context_, this);
    auto* left = static_cast<Fiber*>(from.data);
    left->context_ = from.fctx;
#ifdef MUSTH_ASAN
    __sanitizer_finish_switch_fiber(fake_stack_, &left->bottom_, &left->size_);
#endif
    suspended_ = false;
    std::memcpy(exception_state_, exceptions, sizeof(exceptions));
  }

  // Leaves the running fiber (*this) for ever.
  [[noreturn]] void ExitTo(Fiber* to);

  // Gives up a suspended fiber: its stack stays as it is, for good.
  void Abandon();

 private:
  // Caught exceptions and the number of uncaught ones, per thread.
  static constexpr size_t kExceptionStateSize = 16;

  static void Start(boost::context::detail::transfer_t from);
  void MakeContext();
  void MakeTsanFiber();

  void* context_ = nullptr;  // where to go on, while suspended
  Fiber* target_ = nullptr;  // whom it left for
  void* exception_state_;    // of the thread
  bool suspended_ = false;   // entered and holding frames
  StackPool* pool_ = nullptr;
  char* stack_ = nullptr;
  Entry entry_ = nullptr;
  void* arg_ = nullptr;
  // AddressSanitizer's view; unused without it.
  [[maybe_unused]] void* fake_stack_ = nullptr;
  const void* bottom_ = nullptr;
  size_t size_ = 0;
#ifdef MUSTH_TSAN
  void* tsan_ = nullptr;
#endif
};

}  // namespace sim

#endif  // MUSTH_SIM_FIBER_H_

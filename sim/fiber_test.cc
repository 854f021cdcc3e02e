#include "sim/fiber.h"

#include <gtest/gtest.h>

#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace sim {
namespace {

// A fiber that runs a closure and hands control back to main when asked.
class Coroutine {
 public:
  Coroutine(StackPool* pool, Fiber* main, std::function<void(Coroutine&)> body)
      : main_(main), body_(std::move(body)), fiber_(pool, &Enter, this) {}

  void Resume() { main_->SwitchTo(&fiber_); }
  void Suspend() { fiber_.SwitchTo(main_); }
  bool done() const { return done_; }
  Fiber& fiber() { return fiber_; }

 private:
  static void Enter(void* arg) {
    auto* self = static_cast<Coroutine*>(arg);
    self->body_(*self);
    self->done_ = true;
    self->fiber_.ExitTo(self->main_);
  }

  Fiber* main_;
  std::function<void(Coroutine&)> body_;
  bool done_ = false;
  Fiber fiber_;
};

// Suspends at the bottom of many frames, then throws through them.
int Deep(Coroutine& c, int depth, int value) {
  volatile char pad[64];
  pad[0] = static_cast<char>(depth);
  if (depth == 0) {
    c.Suspend();
    throw std::runtime_error(std::to_string(value));
  }
  return Deep(c, depth - 1, value) + pad[0];
}

TEST(Fiber, ExceptionsOfTwentyFibersStayApart) {
  StackPool pool;
  Fiber main;
  std::vector<std::unique_ptr<Coroutine>> fibers;
  int right = 0;
  for (int i = 0; i < 20; ++i) {
    fibers.push_back(
        std::make_unique<Coroutine>(&pool, &main, [&, i](Coroutine& c) {
          try {
            Deep(c, 30, i);
          } catch (const std::exception&) {
            // Suspending inside the handler: the exception in flight and the
            // one rethrown after it must still be this fiber's own.
            c.Suspend();
            try {
              std::rethrow_exception(std::current_exception());
            } catch (const std::exception& e) {
              right += e.what() == std::to_string(i);
            }
          }
          right += std::uncaught_exceptions() == 0;
        }));
  }
  for (int round = 0; round < 3; ++round) {
    for (auto& f : fibers) f->Resume();
  }
  for (auto& f : fibers) EXPECT_TRUE(f->done());
  EXPECT_EQ(right, 40);
}

TEST(Fiber, UncaughtCountBelongsToTheFiber) {
  StackPool pool;
  Fiber main;
  int seen_by_other = -1;
  int seen_by_unwinding = -1;
  Coroutine other(&pool, &main, [&](Coroutine& c) {
    c.Suspend();
    seen_by_other = std::uncaught_exceptions();
  });
  other.Resume();
  struct OnUnwind {
    std::function<void()> action;
    ~OnUnwind() { action(); }
  };
  Coroutine unwinding(&pool, &main, [&](Coroutine& c) {
    try {
      OnUnwind guard{[&] {
        c.Suspend();
        seen_by_unwinding = std::uncaught_exceptions();
      }};
      throw 1;
    } catch (int) {
    }
  });
  unwinding.Resume();
  other.Resume();
  unwinding.Resume();
  EXPECT_EQ(seen_by_other, 0);
  EXPECT_EQ(seen_by_unwinding, 1);
}

TEST(Fiber, SwitchesDirectlyBetweenFibers) {
  StackPool pool;
  Fiber main;
  std::string order;
  Coroutine* second = nullptr;
  Coroutine first(&pool, &main, [&](Coroutine& c) {
    order += 'a';
    c.fiber().SwitchTo(&second->fiber());
    order += 'c';
  });
  Coroutine other(&pool, &main, [&](Coroutine& c) {
    order += 'b';
    c.fiber().SwitchTo(&first.fiber());
    order += 'd';
  });
  second = &other;
  first.Resume();
  other.Resume();
  EXPECT_EQ(order, "abcd");
}

TEST(StackPool, ReusesStacksAndPoisonsThem) {
  StackPool pool;
  Fiber main;
  for (int i = 0; i < 100; ++i) {
    Coroutine c(&pool, &main, [](Coroutine&) {});
    c.Resume();
  }
  EXPECT_EQ(pool.mapped(), 1u);
  char* stack = pool.Take();
  pool.Give(stack);
  static_cast<void>(Fiber(
      &pool, [](void*) {}, nullptr, uint8_t{0xAB}));  // never entered
  EXPECT_EQ(static_cast<unsigned char>(stack[0]), 0xAB);
  EXPECT_EQ(static_cast<unsigned char>(stack[StackPool::StackSize() / 2]),
            0xAB);
}

int Recurse(int depth) {
  volatile char frame[1024];
  frame[0] = static_cast<char>(depth);
  return depth == 0 ? frame[0] : Recurse(depth - 1) + frame[0];
}

TEST(FiberDeathTest, StackOverflowHitsTheGuardPage) {
  EXPECT_DEATH(
      {
        StackPool pool;
        Fiber main;
        Coroutine c(&pool, &main, [](Coroutine&) { Recurse(1 << 20); });
        c.Resume();
      },
      "");
}

}  // namespace
}  // namespace sim

#include "sim/event_queue.h"

#include <gtest/gtest.h>

namespace sim {
namespace {

TEST(EventQueue, OrdersByDeadlineThenArming) {
  EventQueue queue;
  queue.Add(30, 1);
  queue.Add(10, 2);
  queue.Add(10, 3);
  queue.Add(20, 4);
  queue.Add(10, 1);
  env::TaskId expected[] = {2, 3, 1, 4, 1};
  for (env::TaskId task : expected) EXPECT_EQ(queue.PopEarliest().task, task);
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueue, CancelRemovesOnlyThatTimer) {
  EventQueue queue;
  uint64_t a = queue.Add(10, 1);
  uint64_t b = queue.Add(10, 2);
  EXPECT_NE(a, 0u);
  queue.Cancel(a);
  EXPECT_EQ(queue.size(), 1u);
  EventQueue::Timer timer = queue.PopEarliest();
  EXPECT_EQ(timer.task, 2u);
  EXPECT_EQ(timer.deadline_ns, 10);
  EXPECT_DEATH(queue.Cancel(b), "deadline != nullptr");
}

}  // namespace
}  // namespace sim

// SPDX-License-Identifier: Apache-2.0
#include "core/containers/chunk_queue.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "tests/core/allocations.h"
#include "tests/sim/random.h"

namespace pawl {
namespace {

TEST(ChunkQueue, IsADeque) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    sim::Random random(seed);
    ChunkQueue<int, 4> queue;
    std::deque<int> model;
    for (int i = 0; i < 5000; ++i) {
      // Phases of 500 steps: the queue grows, shrinks, grows.
      if (model.empty() || random.chance(i / 500 % 3 == 1 ? 1 : 2, 3)) {
        queue.push_back(i);
        model.push_back(i);
      } else {
        queue.pop_front();
        model.pop_front();
      }
      ASSERT_EQ(queue.size(), model.size());
      ASSERT_EQ(queue.empty(), model.empty());
      if (model.empty()) continue;
      ASSERT_EQ(queue.front(), model.front());
      const std::size_t at = random.below(model.size());
      ASSERT_EQ(queue[at], model[at]);
    }
  }
}

TEST(ChunkQueue, GrowsWithoutMovingItsItems) {
  ChunkQueue<int, 4> queue;
  queue.push_back(0);
  const int* const first = &queue.front();
  for (int i = 1; i < 1000; ++i) queue.push_back(i);
  EXPECT_EQ(&queue.front(), first);
}

TEST(ChunkQueue, KeepsTwoEmptiedChunksAndFreesTheOthers) {
  ChunkQueue<int, 4> queue;
  for (int i = 0; i < 4000; ++i) queue.push_back(i);
  const std::size_t full = queue.bytes();
  EXPECT_GE(full, 4000 * sizeof(int));
  while (!queue.empty()) queue.pop_front();
  const std::size_t table = 1024 * sizeof(void*);  // the pointers to 1000 chunks
  EXPECT_EQ(queue.bytes(), table + 2 * 4 * sizeof(int));
  EXPECT_EQ(full, table + 1000 * 4 * sizeof(int));
}

TEST(ChunkQueue, AllocatesNothingInASteadyState) {
  ChunkQueue<int, 4> queue;
  const auto pass = [&queue](int items) {
    for (int i = 0; i < items; ++i) queue.push_back(i);
    for (int i = 0; i < items; ++i) queue.pop_front();
  };
  for (int i = 0; i < 10; ++i) pass(5);
  const std::uint64_t before = test::allocations();
  for (int i = 0; i < 1000; ++i) pass(5);
  EXPECT_EQ(test::allocations(), before);
}

TEST(ChunkQueue, ReleasesAnItemWhenItIsPopped) {
  ChunkQueue<std::shared_ptr<int>, 4> queue;
  const auto item = std::make_shared<int>(1);
  for (int i = 0; i < 3; ++i) queue.push_back(item);
  queue.pop_front();
  EXPECT_EQ(item.use_count(), 3);
}

TEST(ChunkQueueDeath, RefusesAnItemThatIsNotThere) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  ChunkQueue<int, 4> queue;
  EXPECT_DEATH(queue.pop_front(), "count_ > 0");
  queue.push_back(1);
  EXPECT_DEATH(queue[1] = 2, "i < count_");
}

}  // namespace
}  // namespace pawl

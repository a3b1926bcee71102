// SPDX-License-Identifier: Apache-2.0
#include "core/containers/ring_queue.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "tests/sim/random.h"

namespace pawl {
namespace {

TEST(RingQueue, DoesWhatADequeWouldDo) {
  sim::Random random(1);
  RingQueue<int> ring;
  std::deque<int> oracle;
  for (int i = 0; i < 200'000; ++i) {
    const std::uint64_t dice = random.below(i % 20'000 < 10'000 ? 5 : 8);
    if (random.below(200) == 0) {
      const std::size_t at = random.below(oracle.size() + 1);
      ring.insert(at, i);
      oracle.insert(oracle.begin() + static_cast<std::ptrdiff_t>(at), i);
    } else if (random.below(200) == 0) {
      ring.fit();
    } else if (dice < 2) {
      ring.push_back(i);
      oracle.push_back(i);
    } else if (dice == 2) {
      ring.push_front(i);
      oracle.push_front(i);
    } else if (!oracle.empty() && dice == 3) {
      ring.pop_back();
      oracle.pop_back();
    } else if (!oracle.empty()) {
      ring.pop_front();
      oracle.pop_front();
    }
    ASSERT_EQ(ring.size(), oracle.size());
    ASSERT_EQ(ring.empty(), oracle.empty());
    if (oracle.empty()) continue;
    ASSERT_EQ(ring.front(), oracle.front());
    ASSERT_EQ(ring.back(), oracle.back());
    const std::size_t at = random.below(oracle.size());
    ASSERT_EQ(ring[at], oracle[at]);
  }
  ring.clear();
  EXPECT_TRUE(ring.empty());
}

TEST(RingQueue, GivesMemoryBackWhenAskedTo) {
  RingQueue<int> ring;
  for (int i = 0; i < 1000; ++i) ring.push_back(i);
  EXPECT_EQ(ring.capacity(), 1024u);
  for (int i = 0; i < 800; ++i) ring.pop_front();
  ring.fit();
  EXPECT_EQ(ring.capacity(), 1024u);
  for (int i = 0; i < 100; ++i) ring.pop_front();
  ring.fit();
  EXPECT_EQ(ring.capacity(), 256u);
  EXPECT_EQ(ring.front(), 900);
  EXPECT_EQ(ring.back(), 999);
}

TEST(RingQueue, LetsGoOfWhatIsPopped) {
  RingQueue<std::shared_ptr<int>> ring;
  const auto item = std::make_shared<int>(1);
  for (int i = 0; i < 10; ++i) ring.push_back(item);
  EXPECT_EQ(item.use_count(), 11);
  ring.pop_front();
  ring.pop_back();
  EXPECT_EQ(item.use_count(), 9);
  ring.clear();
  EXPECT_EQ(item.use_count(), 1);
}

}  // namespace
}  // namespace pawl

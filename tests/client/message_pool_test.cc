// SPDX-License-Identifier: Apache-2.0
#include "net/client/message_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace pawl::client {
namespace {

using Index = MessagePool::Index;

std::string text(std::size_t bytes) {
  std::string made(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<char>('a' + i % 23);
  return made;
}

std::string content(const MessagePool& pool, Index message) {
  std::string out = "before:";
  pool.append_to(out, message);
  return out.substr(7);
}

TEST(MessagePool, KeepsMessagesOfEverySize) {
  MessagePool pool(1 << 20);
  for (const std::size_t bytes : {0, 1, 207, 208, 209, 455, 456, 457, 704, 705, 100'000}) {
    SCOPED_TRACE(bytes);
    const std::size_t before = pool.free_bytes();
    const Index message = pool.take(text(bytes));
    ASSERT_NE(message, MessagePool::none);
    EXPECT_EQ(pool.at(message).bytes, bytes);
    EXPECT_EQ(content(pool, message), text(bytes));
    EXPECT_EQ(before - pool.free_bytes(), MessagePool::bytes_for(bytes));
    pool.free(message);
    EXPECT_EQ(pool.free_bytes(), before);
  }
  EXPECT_EQ(MessagePool::bytes_for(208), 256u);
  EXPECT_EQ(MessagePool::bytes_for(209), 512u);
}

TEST(MessagePool, IsFullAtItsLimitAndUsesFreedBlocksAgain) {
  MessagePool pool(10 * MessagePool::block_bytes + 100);
  EXPECT_EQ(pool.free_bytes(), 10 * MessagePool::block_bytes);
  const Index large = pool.take(text(1500));  // 7 blocks
  const Index small = pool.take(text(100));
  ASSERT_NE(large, MessagePool::none);
  EXPECT_EQ(pool.take(text(500)), MessagePool::none) << "3 blocks, and 2 are free";
  EXPECT_NE(pool.take(text(400)), MessagePool::none);
  EXPECT_EQ(pool.take(""), MessagePool::none);
  pool.free(large);
  const Index other = pool.take(text(1400));
  ASSERT_NE(other, MessagePool::none);
  EXPECT_EQ(content(pool, other), text(1400));
  EXPECT_EQ(content(pool, small), text(100));
}

std::vector<std::uint64_t> numbers_in(const MessagePool& pool, const MessageList& list) {
  std::vector<std::uint64_t> numbers;
  for (Index at = list.first; at != MessagePool::none; at = pool.at(at).next)
    numbers.push_back(pool.at(at).number);
  return numbers;
}

TEST(MessageList, MergesInTheOrderOfNumbers) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    MessagePool pool(1 << 16);
    MessageList lists[2];
    std::vector<std::uint64_t> all;
    const std::uint64_t spread = 1 + random() % 4;  // long runs of one list, or alternation
    const auto count = random() % 40;
    for (std::uint64_t number = 1; number <= count; ++number) {
      const Index message = pool.take(text(number));
      pool.at(message).number = number;
      lists[random() % spread == 0].push_back(pool, message);
      all.push_back(number);
    }
    const std::uint64_t bytes = lists[0].bytes + lists[1].bytes;
    lists[0].merge(pool, lists[1]);
    EXPECT_TRUE(lists[1].empty());
    EXPECT_EQ(lists[0].count, count);
    EXPECT_EQ(lists[0].bytes, bytes);
    EXPECT_EQ(numbers_in(pool, lists[0]), all) << "round " << round;
    for (const std::uint64_t number : all)
      EXPECT_EQ(pool.at(lists[0].pop_front(pool)).number, number);
    EXPECT_TRUE(lists[0].empty());
    EXPECT_EQ(lists[0].bytes, 0u);
  }
}

}  // namespace
}  // namespace pawl::client

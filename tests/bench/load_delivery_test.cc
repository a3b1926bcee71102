// SPDX-License-Identifier: Apache-2.0
#include "bench/load_delivery.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

using load::Delivered;
using load::DeliveryCheck;
using load::DeliveryCounts;
using load::first_sequence;

std::uint32_t deliver(DeliveryCheck& check, std::uint64_t sequence) {
  const Delivered one{.sequence = sequence};
  return check.delivered({&one, 1});
}

TEST(DeliveryCheck, CountsAcceptedMessagesThatNeverArrive) {
  DeliveryCheck check(2, 0);
  check.accepted(first_sequence(0), 10);
  check.accepted(first_sequence(1), 1);
  EXPECT_EQ(check.counts().lost, 11u);
  for (std::uint64_t i = 0; i < 9; ++i) EXPECT_EQ(deliver(check, first_sequence(0) + i), 1u);
  EXPECT_EQ(check.counts().lost, 2u);
  EXPECT_FALSE(check.counts().flawless());
}

TEST(DeliveryCheck, DoesNotMindADeliveryBeforeTheResponseNorOfARefusedMessage) {
  DeliveryCheck check(1, 0);
  deliver(check, first_sequence(0) + 1);
  check.accepted(first_sequence(0) + 1, 1);
  deliver(check, first_sequence(0));
  EXPECT_TRUE(check.counts().flawless());
}

TEST(DeliveryCheck, CountsDuplicatesOnceEach) {
  DeliveryCheck check(1, 1);
  EXPECT_EQ(deliver(check, first_sequence(0)), 1u);
  EXPECT_EQ(deliver(check, first_sequence(0)), 0u);
  EXPECT_EQ(deliver(check, first_sequence(0)), 0u);
  EXPECT_EQ(check.counts().duplicates, 2u);
  EXPECT_EQ(check.counts().disordered, 0u) << "a duplicate has no place in the order";
}

TEST(DeliveryCheck, KeepsTheOrderOfAProducerWithinAGroup) {
  struct Case {
    const char* name;
    std::uint32_t groups;
    std::uint64_t disordered;
  };
  constexpr Case cases[] = {
      {"no FIFO queue",                        0, 0},
      {"one group",                            1, 2},
      {"two groups: 1 follows 3, 0 follows 2", 2, 2},
      {"three groups: 0 follows 3",            3, 1},
  };
  for (const Case& c : cases) {
    DeliveryCheck check(2, c.groups);
    for (const std::uint64_t i : {2u, 3u, 0u, 1u}) deliver(check, first_sequence(0) + i);
    deliver(check, first_sequence(1));  // another producer: in order
    EXPECT_EQ(check.counts().disordered, c.disordered) << c.name;
  }
}

TEST(DeliveryCheck, IgnoresNumbersOfNoProducer) {
  DeliveryCheck check(1, 1);
  for (const std::uint64_t other : {std::uint64_t{0}, std::uint64_t{7}, first_sequence(1),
                                    first_sequence(0) + (std::uint64_t{1} << 21), UINT64_MAX})
    EXPECT_EQ(deliver(check, other), 0u) << other;
  EXPECT_TRUE(check.counts().flawless());
}

}  // namespace
}  // namespace pawl

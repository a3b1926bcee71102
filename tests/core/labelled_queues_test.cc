// SPDX-License-Identifier: Apache-2.0
#include "core/queue/labelled_queues.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(LabelledQueues, KeepTheirLabelsForTheirLives) {
  LabelledQueues labelled(2);
  for (std::uint32_t id = 1; id <= 3; ++id) labelled.add(QueueId{id});
  EXPECT_TRUE(labelled.has(QueueId{1}));
  EXPECT_FALSE(labelled.has(QueueId{3})) << "no label was free";
  labelled.drop(QueueId{1});
  EXPECT_FALSE(labelled.has(QueueId{3})) << "its counts are in the sum, and stay there";
  labelled.add(QueueId{4});
  EXPECT_TRUE(labelled.has(QueueId{4}));
  labelled.drop(QueueId{3});
  labelled.add(QueueId{5});
  EXPECT_FALSE(labelled.has(QueueId{5})) << "a queue without a label frees none";
  EXPECT_EQ(labelled.size(), labelled.most());
}

TEST(LabelledQueues, MayBeNone) {
  LabelledQueues labelled(0);
  labelled.add(QueueId{1});
  EXPECT_FALSE(labelled.has(QueueId{1}));
}

}  // namespace
}  // namespace pawl

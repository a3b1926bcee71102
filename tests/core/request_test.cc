// SPDX-License-Identifier: Apache-2.0
#include "core/queue/request.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(Delivery, TakesItsContentFromTheLogAndKeepsTheStateFromTheShard) {
  Delivery delivery{.position = 4160, .seq = 7, .receive_count = 2, .first_received = {5000}};
  const Content stored{.body = "b", .group = "g"};
  delivery.take(Instant{1000}, Instant{1500}, MessageId{1, 2}, stored);
  EXPECT_EQ(delivery.sent, Instant{1000});
  EXPECT_EQ(delivery.deliver_at, Instant{1500});
  EXPECT_EQ(delivery.id, (MessageId{1, 2}));
  EXPECT_EQ(delivery.content.body, "b");
  EXPECT_EQ(delivery.content.group, "g");
  EXPECT_EQ(delivery.position, 4160u);
  EXPECT_EQ(delivery.seq, 7u);
  EXPECT_EQ(delivery.receive_count, 2u);
  EXPECT_EQ(delivery.first_received, Instant{5000});
}

TEST(Request, LeavesTheTimesToTheQueueUnlessTheyAreGiven) {
  const ReceiveParams params;
  EXPECT_EQ(params.visibility, queue_default);
  EXPECT_EQ(params.wait, queue_default);
  EXPECT_EQ(SendEntry().delay, queue_default);
  EXPECT_LT(queue_default, Duration{0}) << "a value that no request may give";
}

TEST(Request, IsDurableAtItsResponseUnlessItsQueueSaysOtherwise) {
  const Request request;
  EXPECT_EQ(request.durability, Durability::fsync);
  EXPECT_EQ(request.error, Errc::ok);
  EXPECT_EQ(request.op, Op::none) << "changes nothing";
}

}  // namespace
}  // namespace pawl

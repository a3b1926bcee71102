// SPDX-License-Identifier: Apache-2.0
// The age of a queue's oldest message: exact in the log's memory, an estimate on the disk.
#include "net/engine/message_ages.h"

#include <string>
#include <vector>

#include "tests/sim/shard_loop_fixture.h"

namespace pawl::sim {
namespace {

class MessageAgesTest : public ShardLoopTest {
 protected:
  void decide(Request& request) {
    world->submit(request, zero, zero);
    run(10'000);
    ASSERT_TRUE(is_answered(request));
  }
  Instant oldest(QueueId queue) {
    QueueSlice slice;
    slice.wants_figures = true;
    Request request;
    request.op = Op::list_queues;
    request.slice = &slice;
    decide(request);
    EXPECT_EQ(slice.figures.size(), slice.queues.size());
    for (const ListedQueue& listed : slice.queues)
      if (listed.config->id == queue) return listed.oldest_sent;
    ADD_FAILURE() << "queue " << raw(queue) << " is not listed";
    return never;
  }
  void delete_first(QueueId queue) {
    Delivery delivery;
    Request receive;
    receive.op = Op::receive;
    receive.queue = queue;
    receive.deliveries = {&delivery, 1};
    decide(receive);
    ASSERT_EQ(receive.delivered, 1u);
    ReceiptEntry entry{.handle = delivery.handle};
    Request remove;
    remove.op = Op::delete_message;
    remove.queue = queue;
    remove.receipts = {&entry, 1};
    decide(remove);
    ASSERT_EQ(entry.error, Errc::ok);
  }
};

TEST_F(MessageAgesTest, AreThoseOfTheRecordsInMemory) {
  start(1);
  const QueueId queue = make_queue(zero);
  EXPECT_EQ(oldest(queue), never);
  const Instant first = world->now();
  send(queue, "a");
  run(3'000'000);
  EXPECT_NEAR(static_cast<double>(oldest(queue).ms), static_cast<double>(first.ms), 2);
  const Instant second = world->now();
  send(queue, "b");
  run(1'000'000);
  delete_first(queue);
  EXPECT_NEAR(static_cast<double>(oldest(queue).ms), static_cast<double>(second.ms), 2)
      << "both are of one bucket of sending times";
  delete_first(queue);
  EXPECT_EQ(oldest(queue), never);
}

TEST_F(MessageAgesTest, AreEstimatesOfRecordsOnTheDisk) {
  Plan plan = calm_plan(1);
  plan.log.memory_max = 6 * plan.log.extent_bytes;
  start(plan);
  const QueueId queue = make_queue(zero);
  const Instant first = world->now();
  for (int i = 0; i < 100; ++i) {
    send(queue, std::string(2000, 'x'));
    run(20'000);
  }
  EXPECT_NEAR(static_cast<double>(oldest(queue).ms), static_cast<double>(first.ms), 2);
}

}  // namespace
}  // namespace pawl::sim

// SPDX-License-Identifier: Apache-2.0
#include "core/shard/statistics.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "tests/core/shard_harness.h"

namespace pawl::test {
namespace {

class StatisticsTest : public testing::Test {
 protected:
  QueueId make(const std::string& name, std::vector<AttributeChange> changes = {}) {
    return world_.create(name, std::move(changes)).request.config->id;
  }
  // The figures of all queues; `slice_` has those of each.
  QueueSums figures() {
    slice_ = {};
    slice_.wants_figures = true;
    Request request{.op = Op::list_queues, .slice = &slice_};
    Effects effects;
    world_.shard().apply(request, world_.now(), effects);
    EXPECT_EQ(effects.replies.size(), 1u);
    return slice_.shard.all.sums;
  }
  const QueueFigures& of(QueueId queue) {
    for (std::size_t i = 0; i < slice_.queues.size(); ++i)
      if (slice_.queues[i].config->id == queue) return slice_.figures[i];
    ADD_FAILURE() << "no figures of queue " << raw(queue);
    return slice_.shard.all;
  }
  std::vector<ReceiptHandle> receive(QueueId queue, std::uint32_t max,
                                     Duration visibility = seconds(30)) {
    Ask& ask = world_.receive(queue, {.max = max, .visibility = visibility});
    std::vector<ReceiptHandle> handles;
    for (const Delivery& delivery : std::span(ask.deliveries).first(ask.request.delivered))
      handles.push_back(delivery.handle);
    return handles;
  }

  ShardHarness world_{ShardLimits{.labelled_queues_max = 2}};
  QueueSlice slice_;
};

TEST_F(StatisticsTest, CountEachMessageOnceOnItsWay) {
  const QueueId queue = make("q");
  world_.send(queue, {"a", "b", "c", "d"});
  const auto handles = receive(queue, 3, seconds(10));
  ASSERT_EQ(handles.size(), 3u);
  world_.advance(seconds(4));
  world_.receipts(Op::delete_message, queue, {handles[0]});
  world_.receipts(Op::change_visibility, queue, {handles[1]}, Duration{0});
  world_.advance(seconds(7));  // the third one's visibility timeout ends
  world_.receipts(Op::delete_message, queue, {handles[2]});
  world_.plain(Op::purge, queue);
  const QueueSums all = figures();
  const QueueSums& sums = of(queue).sums;
  EXPECT_EQ(sums[QueueCounter::sent], 4u);
  EXPECT_EQ(sums[QueueCounter::deleted], 2u);
  EXPECT_EQ(sums[QueueCounter::late_deletes], 1u);
  EXPECT_EQ(sums[QueueCounter::returned], 1u);
  EXPECT_EQ(sums[QueueCounter::lease_expired], 1u);
  EXPECT_EQ(sums[QueueCounter::purged], 2u);
  EXPECT_EQ(sums[QueueCounter::done_receives], 2u);
  EXPECT_EQ(sums.messages, 0u);
  EXPECT_EQ(of(queue).leases.count(), 1u) << "a late delete says nothing of how long a lease is";
  EXPECT_EQ(of(queue).leases.sum_ms(), 4000u);
  EXPECT_EQ(of(queue).message_ms, 4u * 11'000 - 7'000);
  EXPECT_EQ(all.counters, sums.counters);
}

TEST_F(StatisticsTest, TellTheTimeFromSendToDelete) {
  const QueueId queue = make("q"), last = make("r"), other = make("without a label");
  world_.send(queue, {"a", "b"});
  world_.advance(seconds(4));
  world_.send(queue, {"c"});
  world_.send(other, {"d"});
  world_.receipts(Op::delete_message, queue, receive(queue, 10));
  world_.receipts(Op::delete_message, other, receive(other, 10));
  figures();
  const DeliveryTimes& times = slice_.shard.done_times;
  EXPECT_EQ(times.sum_ms, 2u * 4000);
  EXPECT_EQ(std::accumulate(times.counts.begin(), times.counts.end(), std::uint64_t{0}), 3u);
  EXPECT_EQ(raw(last) + 1, raw(other)) << "two queues have labels";
}

TEST_F(StatisticsTest, CountTheExpired) {
  const QueueId queue = make("q", {
                                      {Attribute::message_retention_period, 60, {}}
  });
  world_.send(queue, {"a", "b"});
  world_.advance(seconds(120));
  figures();
  EXPECT_EQ(of(queue).sums[QueueCounter::expired], 2u);
  EXPECT_EQ(of(queue).sums.messages, 0u);
}

TEST_F(StatisticsTest, CountDuplicates) {
  const QueueId queue = make("q.fifo", {
                                           {Attribute::fifo_queue, 1, {}}
  });
  for (int i = 0; i < 3; ++i)
    world_.send_grouped(queue, {
                                   {"a", "g", "d"}
    });
  figures();
  EXPECT_EQ(of(queue).sums[QueueCounter::sent], 1u);
  EXPECT_EQ(of(queue).sums[QueueCounter::deduplicated], 2u);
}

TEST_F(StatisticsTest, CountDeadLettersWhereTheyLeaveAndWhereTheyArrive) {
  const QueueId dead = make("dead");
  const QueueId queue = make("q", {
                                      {Attribute::max_receive_count,  1,  {}                 },
                                      {Attribute::dead_letter_target, -1, "000000000000/dead"}
  });
  world_.send(queue, {"a"});
  receive(queue, 1, Duration{0});
  receive(queue, 1);
  const QueueSums all = figures();
  EXPECT_EQ(of(queue).sums[QueueCounter::dead_lettered], 1u);
  EXPECT_EQ(of(queue).sums.messages, 0u);
  EXPECT_EQ(of(dead).sums[QueueCounter::arrived], 1u);
  EXPECT_EQ(of(dead).sums[QueueCounter::sent], 0u);
  EXPECT_EQ(of(dead).sums.messages, 1u);
  EXPECT_EQ(all.messages, 1u);
}

TEST_F(StatisticsTest, CountDeliveriesThatLeaveAndThoseThatAreLate) {
  const QueueId queue = make("q", {
                                      {Attribute::lag_target, 5, {}}
  });
  world_.send(queue, {"a"});
  const Instant sent = world_.now();
  const auto deliver = [&](Instant from, std::uint32_t receives, Instant now) {
    const Delivery delivery{.receive_count = receives, .sent = from, .deliver_at = from};
    world_.shard().delivered(queue, {&delivery, 1}, now);
  };
  deliver(sent, 1, sent + seconds(5));
  deliver(sent, 1, sent + seconds(6));
  deliver(sent, 2, sent + seconds(60));
  world_.shard().delivered(QueueId{999}, {}, sent);
  const QueueSums all = figures();
  EXPECT_EQ(all[QueueCounter::received], 3u);
  EXPECT_EQ(all[QueueCounter::first_received], 2u);
  EXPECT_EQ(all[QueueCounter::late], 1u) << "a repeated delivery is not late";
  EXPECT_EQ(slice_.shard.delivery_times.sum_ms, 11'000u);
}

TEST_F(StatisticsTest, SumTheQueuesWithoutALabelAndForgetNothingOfThem) {
  const QueueId first = make("first"), second = make("second"), third = make("third");
  for (const QueueId queue : {first, second, third}) world_.send(queue, {"a", "b"});
  figures();
  ASSERT_EQ(slice_.queues.size(), 2u);
  EXPECT_EQ(slice_.others.visible, 2u);
  EXPECT_EQ(slice_.shard.others.sums[QueueCounter::sent], 2u);
  world_.plain(Op::delete_queue, third);
  world_.plain(Op::delete_queue, first);
  const QueueSums all = figures();
  EXPECT_EQ(slice_.shard.others.sums[QueueCounter::sent], 2u);
  EXPECT_EQ(slice_.shard.others.sums.messages, 0u);
  EXPECT_EQ(all[QueueCounter::sent], 6u) << "the sum outlives the queues";
  EXPECT_EQ(all[QueueCounter::purged], 4u);
  EXPECT_EQ(all.messages, 2u);
  const QueueId fourth = make("fourth");
  world_.send(fourth, {"a"});
  figures();
  EXPECT_EQ(of(fourth).sums[QueueCounter::sent], 1u) << "it has the label of the first";
}

TEST_F(StatisticsTest, BeginAtAStartWithTheMessagesThatAreThere) {
  const QueueId queue = make("q");
  world_.send(queue, {"a", "b", "c"});
  receive(queue, 1);
  world_.crash();
  figures();
  EXPECT_EQ(of(queue).sums.messages, 3u);
  EXPECT_EQ(of(queue).sums[QueueCounter::sent], 0u);
  EXPECT_EQ(of(queue).message_ms, 0u);
  world_.advance(seconds(2));
  figures();
  EXPECT_EQ(of(queue).message_ms, 6000u);
}

// A start must not take a label from a queue because of its name.
TEST_F(StatisticsTest, LabelTheOldestQueuesAtAStart) {
  const QueueId first = make("z"), second = make("y");
  make("x");
  world_.crash();
  figures();
  ASSERT_EQ(slice_.queues.size(), 2u);
  EXPECT_EQ(slice_.queues[0].config->id, first);
  EXPECT_EQ(slice_.queues[1].config->id, second);
}

TEST_F(StatisticsTest, TellTheOldestMessageOfAQueue) {
  const QueueId queue = make("q");
  figures();
  EXPECT_EQ(slice_.queues.front().oldest_sent, never);
  world_.send(queue, {"a"});
  const Instant sent = world_.now();
  world_.advance(seconds(3));
  world_.send(queue, {"b"});
  figures();
  EXPECT_EQ(slice_.queues.front().oldest, 1u);
  EXPECT_EQ(slice_.queues.front().oldest_sent, sent);
  EXPECT_NE(slice_.queues.front().position, log_pos_none);
}

}  // namespace
}  // namespace pawl::test

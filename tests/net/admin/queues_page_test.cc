// SPDX-License-Identifier: Apache-2.0
#include "net/admin/queues_page.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace pawl {
namespace {

ConfigPtr queue(std::uint32_t id, const std::string& account, const std::string& name, bool fifo) {
  auto config = std::make_shared<QueueConfig>();
  config->id = QueueId{id};
  config->set_name(account, name);
  config->apply({Attribute::fifo_queue, fifo ? 1 : 0, {}});
  return config;
}

TEST(QueuesPage, AsksEachShardFromTheLowestQueueToItsLast) {
  QueueLines lines(2);
  std::string body;
  const auto answer = [&](std::uint32_t shard, QueueId from, QueueId next) {
    const ShardSlices::Next asked = lines.next();
    ASSERT_NE(asked.request, nullptr);
    EXPECT_EQ(asked.request->op, Op::list_queues);
    EXPECT_EQ(raw(asked.shard), shard);
    EXPECT_EQ(asked.request->queue, from);
    asked.request->slice->next = next;
    lines.append(body);
  };
  answer(0, QueueId::none, QueueId{7});
  answer(0, QueueId{7}, QueueId::none);
  answer(1, QueueId::none, QueueId::none);
  EXPECT_EQ(lines.next().request, nullptr);
  EXPECT_EQ(body, "");
}

TEST(QueuesPage, WritesALineForEachQueue) {
  QueueLines lines(1);
  const ShardSlices::Next asked = lines.next();
  asked.request->slice->queues = {
      {queue(1, "000000000000", "a",          false), {.visible = 3, .in_flight = 2, .delayed = 1}},
      {queue(2, "x",            "b\"\n.fifo", true),  {}                                          },
  };
  std::string body;
  lines.append(body);
  EXPECT_EQ(body, R"({"account":"000000000000","name":"a","fifo":false,"visible":3,"in_flight":2,)"
                  "\"delayed\":1}\n"
                  R"({"account":"x","name":"b\"\n.fifo","fifo":true,"visible":0,"in_flight":0,)"
                  "\"delayed\":0}\n");
  EXPECT_EQ(lines.content_type(), "application/x-ndjson");
}

// The shard that fills it allocates nothing.
TEST(QueuesPage, HasRoomForAWholeSlice) {
  QueueLines lines(1);
  EXPECT_GE(lines.next().request->slice->queues.capacity(), QueueSlice::rows_max);
  EXPECT_GE(lines.memory(), QueueSlice::rows_max * sizeof(ListedQueue));
}

}  // namespace
}  // namespace pawl

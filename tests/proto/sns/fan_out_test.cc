// SPDX-License-Identifier: Apache-2.0
#include "proto/sns/fan_out.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/aws/notification.h"

namespace pawl {
namespace {

QueueConfig fan_out_queue(std::uint32_t id, std::uint8_t shard, bool fifo = false) {
  QueueConfig config;
  config.id = QueueId{id};
  config.owner = ShardId{shard};
  config.apply({Attribute::fifo_queue, fifo ? 1 : 0, {}});
  return config;
}

std::vector<std::uint32_t> ids_of(const SnsGroup& group) {
  std::vector<std::uint32_t> ids;
  for (std::size_t i = 0; i < group.targets.size(); ++i) {
    ids.push_back(raw(group.targets[i].queue));
    EXPECT_EQ(group.targets[i].queue, group.places[i].queue->id);
  }
  EXPECT_EQ(group.targets.size(), group.places.size());
  return ids;
}

using Ids = std::vector<std::uint32_t>;

TEST(SnsFanOut, GroupsPlacesByShardAndTypeOfQueue) {
  const QueueConfig queues[] = {fan_out_queue(5, 0), fan_out_queue(2, 1), fan_out_queue(3, 0),
                                fan_out_queue(4, 0, true), fan_out_queue(1, 1)};
  const SnsSubscription one{.id = "00000000-0000-4000-8000-000000000001"};
  std::vector<SnsPlace> places;
  for (const QueueConfig& queue : queues)
    places.push_back({.queue = &queue, .subscription = &one, .raw = raw(queue.id) == 3});
  const auto groups = group_places(places, "n");
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(ids_of(groups[0]), (Ids{3, 5}));
  EXPECT_EQ(ids_of(groups[1]), (Ids{4}));
  EXPECT_EQ(ids_of(groups[2]), (Ids{1, 2}));
  EXPECT_EQ(groups[0].targets[0].subscription, MessageId{});
  EXPECT_EQ(groups[0].targets[1].subscription, *subscription_of(one.id));
}

TEST(SnsFanOut, LeavesPlacesAloneWhoseEnvelopeCannotBeMadeLater) {
  const QueueConfig queues[] = {fan_out_queue(1, 0), fan_out_queue(2, 0), fan_out_queue(3, 0)};
  const SnsSubscription good{.id = "00000000-0000-4000-8000-000000000001"}, odd{.id = "1"};
  std::vector<SnsPlace> places = {
      {.queue = &queues[0], .subscription = &good},
      {.queue = &queues[1], .subscription = &odd },
      {.queue = &queues[2], .subscription = &good},
  };
  auto groups = group_places(places, "n");
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_FALSE(groups[0].whole_envelope);
  EXPECT_TRUE(groups[1].whole_envelope);
  EXPECT_FALSE(groups[2].whole_envelope);

  for (SnsPlace& place : places) place.raw = true;
  places[2].raw = false;
  groups = group_places(places, std::string(notification_bytes_max + 1, 'n'));
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(ids_of(groups[0]), (Ids{1, 2}));
  EXPECT_TRUE(groups[1].whole_envelope);
  std::vector<SnsPlace> none;
  EXPECT_TRUE(group_places(none, "n").empty());
}

TEST(SnsFanOut, MakesTheTextsOfEnvelopes) {
  const std::string notification = make_topic_notification({.message_id = "m",
                                                            .sequence_number = "7",
                                                            .topic_arn = "t",
                                                            .subject = "s",
                                                            .base_url = "http://h",
                                                            .sent = {1'700'000'000'123}});
  std::string envelope;
  append_envelope(envelope, {.body = "b\"", .notification = notification}, "u");
  EXPECT_EQ(
      envelope,
      R"({"Type":"Notification","MessageId":"m","SequenceNumber":"7","TopicArn":"t","Subject":"s",)"
      R"("Message":"b\"","Timestamp":"2023-11-14T22:13:20.123Z",)"
      R"("UnsubscribeURL":"http://h/?Action=Unsubscribe&Version=2010-03-31&SubscriptionArn=t:u"})");
}

}  // namespace
}  // namespace pawl

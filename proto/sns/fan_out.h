// SPDX-License-Identifier: Apache-2.0
// The forms in which the queues of a topic get one message: what a publish (deliver.cc) and a fire
// of a schedule (proto/scheduler/reader.h) share.
//
//   places, one a queue --group_places()--> sends, one for each shard and type of queue
//
// Owner:  values; a group points into the places.
// Source: SNS Developer Guide, "Amazon SNS message format".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "core/queue/request.h"
#include "proto/sns/topic.h"

namespace pawl {

struct SnsDelivery;

// The members of a message's envelopes that are the same for all queues.
struct SnsEnvelope {
  std::string_view message_id;
  std::string_view sequence_number;  // of a FIFO topic, else empty
  std::string_view topic_arn;
  std::string_view subject;   // empty: none
  std::string_view base_url;  // of the server: "http://host:port"
  Instant sent;               // by the wall clock
};
// The text for Content::notification; it may be longer than notification_bytes_max.
std::string make_topic_notification(const SnsEnvelope& envelope);

// One queue that a message is for.
struct SnsPlace {
  const QueueConfig* queue = nullptr;
  const SnsSubscription* subscription = nullptr;
  bool raw = false;
  const SnsDelivery* delivery = nullptr;  // of a publish
};

// Places that one send reaches.
struct SnsGroup {
  std::span<const SnsPlace> places;   // of one shard and type of queue
  std::vector<FanOutTarget> targets;  // of each place, by rising queue id
  // One place, whose envelope cannot be made later: its texts are too long to be stored, or the id
  // of the subscription is no UUID.
  bool whole_envelope = false;
};

// Sorts the places of a message with this notification, and groups them.
std::vector<SnsGroup> group_places(std::vector<SnsPlace>& places, std::string_view notification);

}  // namespace pawl

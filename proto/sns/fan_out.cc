// SPDX-License-Identifier: Apache-2.0
#include "proto/sns/fan_out.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "core/base/check.h"
#include "proto/aws/notification.h"
#include "proto/sns/call.h"
#include "proto/text/json.h"
#include "proto/text/timestamp.h"

namespace pawl {
namespace {

auto key_of(const SnsPlace& place) { return std::pair(place.queue->owner, place.queue->is_fifo()); }

bool goes_before(const SnsPlace& a, const SnsPlace& b) {
  return std::tuple(key_of(a), a.queue->id) < std::tuple(key_of(b), b.queue->id);
}

}  // namespace

// The signature members are empty, because there is no certificate to sign with.
std::string make_topic_notification(const SnsEnvelope& envelope) {
  const bool fifo = !envelope.sequence_number.empty();
  std::string before;
  JsonWriter head(before);
  head.begin_object();
  head.member("Type", "Notification");
  head.member("MessageId", envelope.message_id);
  if (fifo) head.member("SequenceNumber", envelope.sequence_number);
  head.member("TopicArn", envelope.topic_arn);
  if (!envelope.subject.empty()) head.member("Subject", envelope.subject);
  head.key("Message");

  std::string between;
  JsonWriter tail(between);
  between += '"';  // ends the message's text, which is written when it is received
  tail.member("Timestamp", std::string_view(timestamp_ms_text(envelope.sent)));
  if (!fifo) {
    tail.member("SignatureVersion", "1");
    tail.member("Signature", "");
    tail.member("SigningCertURL", "");
  }
  tail.member("UnsubscribeURL", std::string_view(fmt::format(
                                    "{}/?Action=Unsubscribe&Version={}&SubscriptionArn={}:",
                                    envelope.base_url, SnsCall::version, envelope.topic_arn)));
  between.pop_back();  // the id follows
  return make_notification(before, std::string_view(between).substr(1));
}

std::vector<SnsGroup> group_places(std::vector<SnsPlace>& places, std::string_view notification) {
  std::ranges::sort(places, goes_before);
  const bool too_long = notification.size() > notification_bytes_max;
  std::vector<SnsGroup> groups;
  bool may_grow = false;  // the last group
  for (const SnsPlace& place : places) {
    CHECK(place.queue != nullptr && place.subscription != nullptr, "a place without a queue");
    const auto subscription = place.raw ? MessageId{} : subscription_of(place.subscription->id);
    const bool whole = !subscription || (!place.raw && too_long);
    if (whole || !may_grow || key_of(groups.back().places.front()) != key_of(place))
      groups.push_back({
          .places = {&place, 0},
            .targets = {},
            .whole_envelope = whole
      });
    may_grow = !whole;
    SnsGroup& group = groups.back();
    group.places = {group.places.data(), group.places.size() + 1};
    group.targets.push_back(
        {.queue = place.queue->id, .subscription = whole ? MessageId{} : *subscription});
  }
  return groups;
}

}  // namespace pawl

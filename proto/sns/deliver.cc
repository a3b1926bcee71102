// SPDX-License-Identifier: Apache-2.0
// The deliveries of a publish: which queues get each message, in which form, and what follows from
// their answers.
//
//   deliveries --group--> sends, one a message, shard and type of queue --waves--> answers
//        ^--------------------------- dead letters -----------------------------------/
#include <fmt/core.h>
#include <algorithm>
#include <ctime>
#include <tuple>

#include "core/base/check.h"
#include "proto/aws/message_attributes.h"
#include "proto/aws/message_rules.h"
#include "proto/aws/notification.h"
#include "proto/sns/call.h"
#include "proto/sns/state.h"
#include "proto/text/json.h"

namespace pawl::sns {
namespace {

using F = SnsFault;
using Next = CallStep;

std::string timestamp(Instant now) {
  const std::time_t seconds = now.ms / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     now.ms % 1000);
}

// The message as all queues share it.
Content content_of(const SnsState& s, const SnsMessage& m) {
  return {.body = m.text,
          .attributes = m.attributes,
          .system = s.trace,
          .notification = m.notification};
}

// The signature members are empty, because there is no certificate to sign with.
void prepare_envelopes(const SnsState& s, SnsMessage& m) {
  std::string before;
  JsonWriter head(before);
  head.begin_object();
  head.member("Type", "Notification");
  head.member("MessageId", m.message_id_text());
  if (s.topic->is_fifo()) {
    head.member("SequenceNumber",
                std::string_view(m.sequence_number.data(), m.sequence_number.size()));
  }
  head.member("TopicArn", std::string_view(s.topic_arn));
  if (!m.subject.empty()) head.member("Subject", std::string_view(m.subject));
  head.key("Message");

  std::string between;
  JsonWriter tail(between);
  between += '"';  // ends the message's text, which is written when it is received
  tail.member("Timestamp", std::string_view(timestamp(s.now)));
  if (!s.topic->is_fifo()) {
    tail.member("SignatureVersion", "1");
    tail.member("Signature", "");
    tail.member("SigningCertURL", "");
  }
  tail.member("UnsubscribeURL",
              std::string_view(fmt::format("{}/?Action=Unsubscribe&Version={}&SubscriptionArn={}:",
                                           s.base_url, SnsCall::version, s.topic_arn)));
  between.pop_back();  // the id follows
  m.notification = make_notification(before, std::string_view(between).substr(1));
  std::string whole;
  append_envelope(whole, content_of(s, m));
  m.envelope_bytes = whole.size();
}

// One queue that a message is for.
struct Place {
  const QueueConfig* queue = nullptr;
  const SnsDelivery* delivery = nullptr;
  bool raw = false;

  auto key() const { return std::pair(queue->owner, queue->is_fifo()); }
  bool operator<(const Place& other) const {
    return std::tuple(key(), queue->id) < std::tuple(other.key(), other.queue->id);
  }
};

// False: the queue can never accept the message.
bool fits(SnsState& s, SnsMessage& m, Place& place) {
  const SnsDelivery& delivery = *place.delivery;
  // A dead letter is raw, too. One with too many attributes is an envelope, so that it is kept.
  const bool few_attributes = m.attribute_count <= message_attributes_max;
  place.raw = delivery.subscription->raw && (few_attributes || !delivery.dead_letter);
  if (place.raw && !few_attributes) return false;
  if (!place.raw && m.notification.empty()) prepare_envelopes(s, m);
  const std::size_t bytes =
      place.raw ? m.text.size() + attributes_size(m.attributes) : m.envelope_bytes;
  return static_cast<std::int64_t>(bytes) <= place.queue->number(Attribute::maximum_message_size);
}

bool has_dead_letter_queue(const SnsDelivery& delivery) {
  return !delivery.dead_letter && !delivery.subscription->dead_letter_queue.empty();
}

// Moves a message that its queue can never accept to the subscription's dead-letter queue, if any.
void move_to_dead_letters(SnsState& s, const SnsDelivery& from, std::size_t message) {
  CHECK(message < s.messages.size(), "message {} of {}", message, s.messages.size());
  if (!has_dead_letter_queue(from)) return;
  auto to = std::ranges::find_if(
      s.deliveries.begin() + static_cast<std::ptrdiff_t>(s.delivering), s.deliveries.end(),
      [&](const SnsDelivery& d) { return d.dead_letter && d.subscription == from.subscription; });
  if (to == s.deliveries.end()) {
    s.deliveries.push_back(
        {.subscription = from.subscription, .dead_letter = true, .messages = {}});
    to = s.deliveries.end() - 1;
  }
  to->messages.push_back(message);
}

SnsSend& begin_send(SnsState& s, std::size_t message, const QueueConfig& queue) {
  const SnsMessage& m = s.messages[message];
  SnsSend& send = s.sends.emplace_back();
  send.message = message;
  send.owner = queue.owner;
  send.entry.content = content_of(s, m);
  // A FIFO topic's group sets an order, which a standard queue does not keep.
  if (queue.is_fifo() == s.topic->is_fifo()) send.entry.content.group = m.group;
  if (queue.is_fifo()) {
    send.entry.content.dedup_id = m.dedup_id;
  } else {
    send.entry.dedup_by = m.dedup_by;
  }
  return send;
}

// A message whose envelope cannot be made later, because its texts are too long to be stored or the
// subscription's id is no UUID.
void send_whole_envelope(SnsState& s, std::size_t message, const Place& place) {
  SnsSend& send = begin_send(s, message, *place.queue);
  append_envelope(send.body, send.entry.content, place.delivery->subscription->id);
  send.entry.content.body = send.body;
  send.entry.content.attributes = send.entry.content.notification = {};
  send.targets.push_back({.queue = place.queue->id});
  send.deliveries.push_back(place.delivery);
}

// The sends of one message to the places, which are sorted.
void make_sends(SnsState& s, std::size_t message, std::span<const Place> places) {
  const bool too_long = s.messages[message].notification.size() > notification_bytes_max;
  const Place* before = nullptr;  // in the current send
  for (const Place& place : places) {
    const auto subscription =
        place.raw ? MessageId{} : subscription_of(place.delivery->subscription->id);
    if (!subscription || (!place.raw && too_long)) {
      send_whole_envelope(s, message, place);
      before = nullptr;
      continue;
    }
    if (before == nullptr || before->key() != place.key()) begin_send(s, message, *place.queue);
    before = &place;
    s.sends.back().targets.push_back({.queue = place.queue->id, .subscription = *subscription});
    s.sends.back().deliveries.push_back(place.delivery);
  }
}

// Makes the sends of the deliveries that have none yet: one for each message, shard and type of
// queue. So a shard that has many queues of the topic gets one copy of the message.
void group_deliveries(SnsState& s) {
  std::vector<std::vector<Place>> places(s.messages.size());
  const std::size_t end = s.deliveries.size();  // the dead letters of these come later
  const std::size_t begin = std::exchange(s.delivering, end);
  for (std::size_t d = begin; d < end; ++d) {
    const SnsDelivery& delivery = s.deliveries[d];
    const ConfigPtr* const queue =
        s.directory->find(delivery.subscription->account, delivery.queue());
    for (const std::size_t i : delivery.messages) {
      Place place{.queue = queue == nullptr ? nullptr : queue->get(), .delivery = &delivery};
      if (queue != nullptr && fits(s, s.messages[i], place)) {
        places[i].push_back(place);
      } else {
        move_to_dead_letters(s, delivery, i);
      }
    }
  }
  s.sends.clear();
  s.sending = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::ranges::sort(places[i], std::less{});
    make_sends(s, i, places[i]);
  }
}

void note_outcome(SnsState& s, const SnsSend& send, std::size_t target) {
  const SnsDelivery& delivery = *send.deliveries[target];
  const Errc whole = send.request.error;
  const Errc outcome = whole != Errc::ok ? whole : send.targets[target].error;
  const bool used_up = outcome == Errc::message_numbers_used_up;
  if (outcome == Errc::no_such_queue || outcome == Errc::too_large ||
      (used_up && has_dead_letter_queue(delivery))) {
    move_to_dead_letters(s, delivery, send.message);
  } else if (used_up) {
    s.messages[send.message].refusal.because(
        F::invalid_parameter,
        "All message numbers of the subscribed queue {} were used: it takes no more messages. "
        "Receive what is left in it, and subscribe a new queue instead.",
        delivery.queue());
  } else if (outcome != Errc::ok) {
    s.messages[send.message].refusal.broker(outcome);
  }
}

}  // namespace

// Sends the next wave, or answers after the last one.
Next deliver(SnsState& s) {
  s.routes.clear();
  while (s.sending == s.sends.size() && s.delivering < s.deliveries.size()) group_deliveries(s);
  s.under_way = s.sending;
  if (s.numbering == SnsState::Numbers::taken) confirm_numbers(s);
  while (s.sending < s.sends.size() && s.routes.size() < SnsCall::routes_max) {
    SnsSend& send = s.sends[s.sending++];
    CHECK(!send.targets.empty() && send.targets.size() == send.deliveries.size(),
          "{} targets of {} deliveries", send.targets.size(), send.deliveries.size());
    send.request.op = Op::fan_out;
    send.request.sends = {&send.entry, 1};
    send.request.targets = send.targets;
    s.routes.push_back({&send.request, send.owner});
  }
  return s.routes.empty() ? answer_publish(s) : Next::route;
}

Next sent(SnsState& s) {
  CHECK(s.under_way <= s.sending && s.sending <= s.sends.size(), "a wave from {} to {} of {}",
        s.under_way, s.sending, s.sends.size());
  if (s.numbering == SnsState::Numbers::confirming) note_confirmation(s);
  for (std::size_t i = s.under_way; i < s.sending; ++i) {
    SnsSend& send = s.sends[i];
    for (std::size_t target = 0; target < send.targets.size(); ++target)
      note_outcome(s, send, target);
    std::string().swap(send.body);
  }
  return deliver(s);
}

}  // namespace pawl::sns

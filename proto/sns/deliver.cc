// SPDX-License-Identifier: Apache-2.0
// The deliveries of a publish: which queues get each message, in which form, and what follows from
// their answers.
//
//   deliveries --group--> sends, one a message, shard and type of queue --waves--> answers
//        ^--------------------------- dead letters -----------------------------------/
#include <fmt/core.h>
#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "proto/aws/message_attributes.h"
#include "proto/aws/message_rules.h"
#include "proto/aws/notification.h"
#include "proto/sns/call.h"
#include "proto/sns/fan_out.h"
#include "proto/sns/state.h"

namespace pawl::sns {
namespace {

using F = SnsFault;
using Next = CallStep;

// The message as all queues share it.
Content content_of(const SnsState& s, const SnsMessage& m) {
  return {.body = m.text,
          .attributes = m.attributes,
          .system = s.trace,
          .notification = m.notification};
}

void prepare_envelopes(const SnsState& s, SnsMessage& m) {
  std::string_view number;
  if (s.topic->is_fifo()) number = {m.sequence_number.data(), m.sequence_number.size()};
  m.notification = make_topic_notification({.message_id = m.message_id_text(),
                                            .sequence_number = number,
                                            .topic_arn = s.topic_arn,
                                            .subject = m.subject,
                                            .base_url = s.base_url,
                                            .sent = s.now});
  std::string whole;
  append_envelope(whole, content_of(s, m));
  m.envelope_bytes = whole.size();
}

// False: the queue can never accept the message.
bool fits(SnsState& s, SnsMessage& m, SnsPlace& place) {
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

// The sends of one message to the places.
void make_sends(SnsState& s, std::size_t message, std::vector<SnsPlace>& places) {
  for (SnsGroup& group : group_places(places, s.messages[message].notification)) {
    const SnsPlace& first = group.places.front();
    SnsSend& send = begin_send(s, message, *first.queue);
    if (group.whole_envelope) {
      append_envelope(send.body, send.entry.content, first.subscription->id);
      send.entry.content.body = send.body;
      send.entry.content.attributes = send.entry.content.notification = {};
    }
    send.targets = std::move(group.targets);
    for (const SnsPlace& place : group.places) send.deliveries.push_back(place.delivery);
  }
}

// Makes the sends of the deliveries that have none yet: one for each message, shard and type of
// queue. So a shard that has many queues of the topic gets one copy of the message.
void group_deliveries(SnsState& s) {
  std::vector<std::vector<SnsPlace>> places(s.messages.size());
  const std::size_t end = s.deliveries.size();  // the dead letters of these come later
  const std::size_t begin = std::exchange(s.delivering, end);
  for (std::size_t d = begin; d < end; ++d) {
    const SnsDelivery& delivery = s.deliveries[d];
    const ConfigPtr* const queue =
        s.directory->find(delivery.subscription->account, delivery.queue());
    for (const std::size_t i : delivery.messages) {
      SnsPlace place{.queue = queue == nullptr ? nullptr : queue->get(),
                     .subscription = delivery.subscription,
                     .delivery = &delivery};
      if (queue != nullptr && fits(s, s.messages[i], place)) {
        places[i].push_back(place);
      } else {
        move_to_dead_letters(s, delivery, i);
      }
    }
  }
  s.sends.clear();
  s.sending = 0;
  for (std::size_t i = 0; i < places.size(); ++i) make_sends(s, i, places[i]);
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

// SPDX-License-Identifier: Apache-2.0
#include "proto/pawl/expected_end.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/check.h"
#include "proto/aws/message_attributes.h"
#include "proto/aws/own_attributes.h"
#include "proto/pawl/explanation.h"

namespace pawl {
namespace {

using State = PeekedMessage::State;

bool was_moved(const Delivery& delivery) { return delivery.moved != Instant{}; }

void read_life(std::string_view encoded, std::optional<OwnAttributes>& own) {
  AttributeReader reader(encoded);
  Refusal unused;
  for (MessageAttribute a; reader.next(a);)
    if (a.name == time_to_live_name && !read_own_attribute(a, own, unused)) return;
}

// Its x-ttl; 0: it has none. A copy, and a message from another queue, have that of their queue.
Duration own_life(const QueueConfig& queue, const Delivery& delivery) {
  if (was_moved(delivery) || delivery.content.replayed) return Duration{0};
  std::optional<OwnAttributes> own;
  read_life(delivery.content.system, own);
  if (queue.takes_own_among_attributes()) read_life(delivery.content.attributes, own);
  return own ? own->time_to_live.value_or(Duration{0}) : Duration{0};
}

Instant begin_of_retention(const QueueConfig& queue, const PeekedMessage& message,
                           const Delivery& delivery) {
  if (was_moved(delivery)) return queue.is_fifo() ? delivery.moved : delivery.deliver_at;
  if (message.never_delivered && message.aged_apart) return message.until;
  return message.record.aged_apart ? std::max(delivery.deliver_at, delivery.sent) : delivery.sent;
}

Instant end_of_life(const PeekedMessage& message, const Delivery& delivery) {
  if (message.life_ahead.ms > 0) return message.until + message.life_ahead;
  const Instant begin =
      was_moved(delivery) ? delivery.moved : std::max(delivery.sent, delivery.deliver_at);
  return begin + message.record.time_to_live;
}

std::string rule_text(const PeekedMessage& message, Duration own, const Delivery& delivery) {
  const Duration life = message.record.time_to_live;
  CHECK(life.ms > 0, "a life of {} ms", life.ms);
  const std::string_view whose = life == own           ? "its x-ttl"
                                 : was_moved(delivery) ? "the queue's x-message-ttl when it came"
                                                       : "the queue's x-message-ttl at its send";
  return fmt::format(" By {} it lives for {} from when it first becomes visible.", whose,
                     rough_text(life));
}

std::string move_text(const QueueConfig& queue) {
  const std::string_view target = queue.text(Attribute::dead_letter_target);
  if (!queue.moves_expired() || target.empty()) return {};
  return fmt::format(" When it expires it moves to the dead-letter queue {}.",
                     QueueName::from_text(target).name);
}

}  // namespace

ExpectedEnd expected_end(const QueueConfig& queue, const PeekedMessage& message,
                         const Delivery& delivery, Instant now) {
  CHECK(message.seq == delivery.seq, "message {} and the body of {}", message.seq, delivery.seq);
  if (message.cancelled) return {};  // it ends when its consumer gives it back
  const bool in_flight = message.state == State::in_flight;
  const std::string moves = move_text(queue);
  Instant retained = begin_of_retention(queue, message, delivery) + queue.retention();
  if (in_flight && !moves.empty()) retained = std::max(retained, message.until);
  if (message.record.time_to_live.ms == 0) return {.at = retained, .text = moves};
  ExpectedEnd end{.at = end_of_life(message, delivery),
                  .text = rule_text(message, own_life(queue, delivery), delivery)};
  if (in_flight && *end.at < message.until) {
    end.text += " That time ends before its visibility timeout: it expires when it comes back.";
    end.at = message.until;
  }
  end.text += moves;
  end.at = std::min(*end.at, retained);
  if (*end.at <= now && !in_flight) end.at.reset();
  return end;
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/pawl/explanation.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "core/base/check.h"
#include "core/queue/queue.h"
#include "proto/text/network.h"

namespace pawl {
namespace {

using State = PeekedMessage::State;

// True: it was received as often as the RedrivePolicy allows.
bool is_spent(const QueueConfig& queue, const PeekedMessage& message) {
  const std::int64_t most = queue.number(Attribute::max_receive_count);
  return most > 0 && message.receive_count >= most;
}

std::string dead_letter_queue(const QueueConfig& queue) {
  return std::string(QueueName::from_text(queue.text(Attribute::dead_letter_target)).name);
}

std::string receives_of(const QueueConfig& queue, const PeekedMessage& message) {
  const std::int64_t most = queue.number(Attribute::max_receive_count);
  if (most > 0) return fmt::format("{} of at most {} times", message.receive_count, most);
  return fmt::format("{} {}", message.receive_count, message.receive_count == 1 ? "time" : "times");
}

// A sentence on the sends that repeat a message of a FIFO queue; empty: none does.
std::string deduplication(Instant until, Instant now) {
  if (until <= now) return {};
  return fmt::format(
      " For another {}, a send with its MessageDeduplicationId adds no message and returns its id.",
      rough_text(until - now));
}

std::string why_blocked(const Explained& subject) {
  std::string head =
      fmt::format("It waits for message {} before it in its group, ", subject.message->behind);
  if (subject.blocker == nullptr) return head + "which has just left the queue.";
  const PeekedMessage& blocker = *subject.blocker;
  CHECK(blocker.seq == subject.message->behind, "message {} holds {}", blocker.seq,
        subject.message->seq);
  switch (blocker.state) {
    case State::not_durable:
      return head + "which is not on the disk yet.";
    case State::delayed:
      return fmt::format("{}which is delayed for another {}.", head,
                         rough_text(blocker.until - subject.now));
    case State::in_flight:
      return fmt::format("{}which is in flight for another {}, unless it is deleted before.", head,
                         rough_text(blocker.until - subject.now));
    case State::moving:
      return head + "which is being moved to another queue.";
    case State::unreadable:
      return head + "whose record in the log cannot be read.";
    case State::visible:
      return head + (blocker.seq > subject.message->seq
                         ? "which has passed it and is visible: receives return that one first."
                         : "which has just become visible.");
  }
  return head;
}

std::string why_visible(const Explained& subject) {
  const QueueConfig& queue = subject.queue;
  const PeekedMessage& message = *subject.message;
  if (subject.slice != nullptr && subject.slice->full)
    return fmt::format(
        "It is visible, but {} messages of the queue are in flight, the most that it may have: "
        "receives return it when some are deleted or visible again.",
        in_flight_max);
  if (is_spent(queue, message))
    return fmt::format(
        "It was received {}: the next receive moves it to the dead-letter queue {}, and does not "
        "return it.",
        receives_of(queue, message), dead_letter_queue(queue));
  if (message.tenant_is_noisy)
    return fmt::format(
        "It is visible, but its tenant, its MessageGroupId, has {} messages in flight, over a "
        "tenth of all: receives return the visible messages of other tenants first.",
        message.tenant_in_flight);
  return queue.is_fifo() ? "It is visible, and no message of its group holds it: the next receives "
                           "return it."
                         : "It is visible: the next receives return it.";
}

std::string how_it_left(const Explained& subject) {
  const PeekSlice::Gone& gone = subject.slice->gone;
  CHECK(gone.expired_below <= gone.below, "{} are expired, {} are gone", gone.expired_below,
        gone.below);
  const std::string retention = rough_text(subject.queue.retention());
  if (subject.number < gone.expired_below ||
      (subject.number < gone.below && gone.purged == Instant{}))
    return fmt::format(
        "it expired {} after its send, unless it was deleted, purged or moved to another queue, or "
        "its time to live ended, before.",
        retention);
  if (subject.number < gone.below)
    return fmt::format(
        "all messages below number {} have, by the purge {} ago or because they were older than "
        "{}; unless it was deleted or moved to another queue before.",
        gone.below, rough_text(subject.now - gone.purged), retention);
  if (gone.by_age)
    return fmt::format(
        "it was deleted or moved to another queue, or it expired {} after its send; a dead letter "
        "after its first send, a delayed message of a queue with x-max-delay after its delivery "
        "time, one with a time to live at the end of that.",
        retention);
  return "it was deleted or moved to another queue, or its time to live ended. It was neither "
         "purged "
         "nor older than the retention.";
}

std::string why_absent(const Explained& subject) {
  const PeekSlice* const slice = subject.slice;
  CHECK(subject.message == nullptr, "message {} is there", subject.message->seq);
  if (subject.number != 0 && slice != nullptr && subject.number > slice->newest)
    return fmt::format("The queue has no such message yet: the last one sent has number {}.",
                       slice->newest);
  if (subject.number == 0 || slice == nullptr)
    return fmt::format(
        "The queue has no such message: it was deleted, moved to another queue, has expired ({} "
        "after its send, or at the end of its time to live), or was never in this queue.",
        rough_text(subject.queue.retention()));
  return "It has left the queue: " + how_it_left(subject) +
         deduplication(slice->deduplicates_until, subject.now);
}

std::string why_in_flight(const Explained& subject) {
  const PeekedMessage& message = *subject.message;
  CHECK(message.state == State::in_flight, "state {}", static_cast<int>(message.state));
  const std::string head =
      fmt::format("A consumer{} has received it.",
                  message.consumer == ConsumerAddress{} ? "" : " at " + text_of(message.consumer));
  if (message.cancelled)
    return fmt::format(
        "{} It is cancelled: it is deleted when its consumer gives it back or its visibility "
        "timeout ends, in {}.",
        head, rough_text(message.until - subject.now));
  std::string text = fmt::format(
      "{} It is visible again in {}, unless it is deleted or its visibility is changed before. It "
      "was received {}.",
      head, rough_text(message.until - subject.now), receives_of(subject.queue, message));
  if (is_spent(subject.queue, message))
    text += fmt::format(" {} moves it to the dead-letter queue {}.",
                        subject.queue.dead_letter_at() == DeadLetterAt::lease_end
                            ? "That"
                            : "The next receive after that",
                        dead_letter_queue(subject.queue));
  return text;
}

std::string why(const Explained& subject) {
  const PeekedMessage& message = *subject.message;
  switch (message.state) {
    case State::not_durable:
      return "It is not on the disk yet. Receives return it as soon as it is.";
    case State::delayed:
      if (is_spent(subject.queue, message))
        return fmt::format(
            "It was received {} and waits: the first receive in {} or later moves it to the "
            "dead-letter queue {}, and does not return it.",
            receives_of(subject.queue, message), rough_text(message.until - subject.now),
            dead_letter_queue(subject.queue));
      if (message.receive_count > 0 && !subject.queue.text(Attribute::retry_backoff).empty())
        return fmt::format(
            "It was received {} and came back: by x-retry-backoff or a time set for it, receives "
            "return it in {}.",
            receives_of(subject.queue, message), rough_text(message.until - subject.now));
      return fmt::format("It is delayed: receives return it in {}.",
                         rough_text(message.until - subject.now));
    case State::visible:
      return message.behind != 0 ? why_blocked(subject) : why_visible(subject);
    case State::in_flight:
      return why_in_flight(subject);
    case State::moving:
      return is_spent(subject.queue, message)
                 ? fmt::format("It was received {}: it is being moved to the dead-letter queue {}.",
                               receives_of(subject.queue, message),
                               dead_letter_queue(subject.queue))
                 : "It is being moved to another queue, by a move task or to the dead-letter "
                   "queue.";
    case State::unreadable:
      return "Its record in the log cannot be read. `pawl wal verify` finds the damage; the next "
             "start of the server tries again.";
  }
  return {};
}

}  // namespace

std::string explanation(const Explained& subject) {
  if (subject.message == nullptr) return why_absent(subject);
  return why(subject) + deduplication(subject.message->deduplicates_until, subject.now);
}

std::string arrival(const Delivery& delivery, Instant now) {
  if (delivery.moved == Instant{}) return {};
  const std::string age = rough_text(now - delivery.moved);
  const std::string_view source = delivery.content.origin;
  if (source.empty()) return fmt::format(" A move task brought it from another queue {} ago.", age);
  const bool expired = delivery.content.reason == DeadLetterReason::expired;
  return fmt::format(
      " It is a dead letter of the queue {}, which moved it here {} ago, {}after {} {}.",
      QueueName::from_text(source).name, age, expired ? "because it expired, " : "",
      delivery.moved_receives, delivery.moved_receives == 1 ? "receive" : "receives");
}

std::string rough_text(Duration time) {
  const std::int64_t ms = std::max<std::int64_t>(time.ms, 0), minutes = ms / 60'000;
  if (ms < 60'000) return fmt::format("{}.{} s", ms / 1000, ms % 1000 / 100);
  if (minutes < 120) return fmt::format("{} min", minutes);
  const std::int64_t hours = (minutes + 30) / 60;
  return hours < 48 ? fmt::format("{} h", hours) : fmt::format("{} days", (hours + 12) / 24);
}

}  // namespace pawl

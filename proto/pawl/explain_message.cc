// SPDX-License-Identifier: Apache-2.0
// ExplainMessage: why one message is delivered or not.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "core/base/check.h"
#include "core/queue/receipt.h"
#include "proto/pawl/actions.h"
#include "proto/pawl/expected_end.h"
#include "proto/pawl/explanation.h"
#include "proto/text/json.h"
#include "proto/text/network.h"
#include "proto/text/text.h"
#include "proto/text/timestamp.h"

namespace pawl {
namespace {

using F = SqsFault;

std::string id_text(const PawlState& s, const PeekedMessage& message, const Delivery* delivery) {
  const bool kept = delivery != nullptr && delivery->id != MessageId{};
  const std::array<char, 36> text =
      uuid_text(kept ? delivery->id : message_id(s.call->config->secret, s.queue->id, message.seq));
  return {text.data(), text.size()};
}

// A sentence on the schedule that sent the message, with a space before it; empty: none did.
std::string origin_of(const PawlState& s, const Fire& fire) {
  if (fire.schedule == QueueId::none) return {};
  const ConfigPtr* const schedule = s.call->directory->find(fire.schedule);
  return fmt::format(" {} sent it, for {}.",
                     schedule == nullptr ? std::string("A schedule that was deleted")
                                         : "The schedule " + (*schedule)->name,
                     timestamp_text(fire.at));
}

// A queue whose dead-letter queue is missing moves no message: it is explained as a queue without a
// RedrivePolicy. Returns a sentence on it, with a space before it; empty: nothing is missing.
std::string leave_out_missing_dead_letter_queue(PawlState& s) {
  const std::string_view target = s.queue->text(Attribute::dead_letter_target);
  const auto [account, name] = QueueName::from_text(target);
  if (target.empty() || s.call->directory->find(account, name) != nullptr) return {};
  std::string sentence = fmt::format(
      " The queue has a RedrivePolicy, but its dead-letter queue {} does not exist.", name);
  auto without = std::make_shared<QueueConfig>(*s.queue);
  without->apply({Attribute::dead_letter_target, -1, {}});
  without->apply({Attribute::max_receive_count, 0, {}});
  s.queue = std::move(without);
  return sentence;
}

void note_found(PawlState& s, const PeekedMessage& message, const Delivery* delivery) {
  const bool known = delivery != nullptr || message.state == PeekedMessage::State::not_durable;
  CHECK(!s.found, "message {} was found before", s.found->seq);
  s.found = message;
  if (!known) s.found->state = PeekedMessage::State::unreadable;
  s.id = id_text(s, message, delivery);
  if (delivery == nullptr) return;
  CHECK(delivery->seq == message.seq, "the body of message {}", delivery->seq);
  const std::string missing = leave_out_missing_dead_letter_queue(s);
  const ExpectedEnd end = expected_end(*s.queue, message, *delivery, s.now);
  s.expires = end.at;
  s.more = origin_of(s, message.record.fire) + arrival(*delivery, s.now) + end.text + missing;
}

CallStep write_explanation(PawlState& s) {
  const PeekedMessage* const message = s.found ? &*s.found : nullptr;
  CHECK(s.body.empty() && (!s.blocker || s.blocker->seq == s.found->behind), "{}", s.body);
  const auto wall = [&s](Instant at) { return s.call->config->shift->wall(at).ms; };
  JsonWriter json(s.body);
  json.begin_object();
  if (message != nullptr) {
    json.member("MessageId", std::string_view(s.id));
    json.member("Number", static_cast<std::int64_t>(message->seq));
  }
  json.member("State", message == nullptr ? std::string_view("absent") : name_of(message->state));
  const std::string text = explanation({.queue = *s.queue,
                                        .message = message,
                                        .blocker = s.blocker ? &*s.blocker : nullptr,
                                        .now = s.now,
                                        .slice = &s.series.slice(),
                                        .number = s.number}) +
                           s.more;
  json.member("Explanation", std::string_view(text));
  if (message != nullptr) {
    json.member("ReceiveCount", std::int64_t{message->receive_count});
    if (message->until != Instant{}) json.member("VisibleAt", wall(message->until));
    if (s.expires) json.member("ExpiresAt", wall(*s.expires));
    if (message->behind != 0) json.member("Behind", static_cast<std::int64_t>(message->behind));
    if (message->consumer != ConsumerAddress{})
      json.member("Consumer", std::string_view(text_of(message->consumer)));
    if (message->deduplicates_until != Instant{})
      json.member("DeduplicatesUntil", wall(message->deduplicates_until));
  }
  json.end_object();
  return CallStep::respond;
}

}  // namespace

CallStep explain_message(PawlState& s) {
  std::string_view id;
  std::uint64_t from = 0;
  s.number = 0;
  Refusal& refusal = s.refusal();
  if (!s.members.text("MessageId", id, refusal) ||
      !s.members.number("Number", 1, seq_max, s.number, refusal) ||
      !s.members.number("From", 0, seq_max, from, refusal))
    return CallStep::respond;
  if (id.empty() == (s.number == 0)) {
    refusal.because(F::missing_parameter,
                    "ExplainMessage needs MessageId, or Number as PeekMessages shows it.");
    return CallStep::respond;
  }
  s.sought_id = std::string(id);
  std::ranges::transform(s.sought_id, s.sought_id.begin(), lower);
  return s.number != 0
             ? s.series.begin(s.queue, s.number, PeekSlice::all_states, 1)
             : s.series.begin(s.queue, from, PeekSlice::all_states, PeekSeries::call_slices_max);
}

CallStep explain_message_result(PawlState& s) {
  const auto look = [&s](const PeekedMessage& message, const Delivery* delivery) {
    if (s.found) {
      if (message.seq == s.found->behind) s.blocker = message;
      return false;
    }
    if (s.number != 0 && message.seq != s.number) return false;
    if (s.number == 0 && id_text(s, message, delivery) != s.sought_id) return true;
    note_found(s, message, delivery);
    return false;
  };
  const bool seeks_blocker = s.found.has_value();
  const CallStep step = s.series.resume(look);
  if (s.series.error() != Errc::ok) return refuse_peek(s, s.series.error());
  if (step == CallStep::route) return step;
  if (s.found && s.found->behind != 0 && !seeks_blocker)
    return s.series.begin(s.queue, s.found->behind, PeekSlice::all_states, 1);
  if (!s.found && s.number == 0 && s.series.next() != 0) {
    JsonWriter json(s.body);
    json.begin_object();
    json.member("Next", static_cast<std::int64_t>(s.series.next()));
    json.end_object();
    return CallStep::respond;
  }
  return write_explanation(s);
}

}  // namespace pawl

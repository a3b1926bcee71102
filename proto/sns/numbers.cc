// SPDX-License-Identifier: Apache-2.0
// The MessageId and SequenceNumber of messages published to a FIFO topic.
//
// The topic's shard gives each message the next number, and a message that is published again the
// number of the first time, for five minutes. It answers before the numbers are durable, so that
// they add no wait for the disk: a second request beside the sends waits for that.
#include "core/base/check.h"
#include "core/queue/receipt.h"
#include "proto/aws/message_rules.h"
#include "proto/sns/call.h"
#include "proto/sns/state.h"
#include "proto/text/text.h"

namespace pawl::sns {
namespace {

using F = SnsFault;
using Numbers = SnsState::Numbers;

// Larger than the numbers of earlier versions, which came from the clock.
constexpr std::uint64_t first_sequence_number = 10'000'000'000'000'000'000u;

void ask(SnsState& s, Durability durability) {
  s.request = {};
  s.request.op = Op::take_numbers;
  s.request.queue = s.row->id;
  s.request.sends = s.numbers;
  s.request.durability = durability;
  s.routes.push_back({&s.request, s.row->owner});
}

void refuse(SnsMessage& m, Errc outcome) {
  if (m.refusal) return;
  if (outcome == Errc::no_such_queue) {
    m.refusal.because(F::not_found, "Topic does not exist");
  } else if (outcome == Errc::message_numbers_used_up) {
    m.refusal.because(F::invalid_parameter,
                      "All numbers of the topic were used: it takes no more messages. Publish to a "
                      "new topic instead.");
  } else {
    m.refusal.broker(outcome);
  }
}

// Calls `visit` with each message that asked for a number, and the outcome.
template <typename Visit>
void each_outcome(SnsState& s, const Visit& visit) {
  for (SendEntry& number : s.numbers) {
    SnsMessage& m = s.messages[number.sequence];
    visit(m, number, s.request.error != Errc::ok ? s.request.error : number.error);
    number.error = Errc::ok;
  }
}

}  // namespace

CallStep take_numbers(SnsState& s) {
  CHECK(s.topic->is_fifo() && s.numbering == Numbers::none, "numbers of {}", s.row->name);
  for (std::size_t i = 0; i < s.messages.size(); ++i) {
    const SnsMessage& m = s.messages[i];
    if (!m.refusal) s.numbers.push_back({.sequence = i, .dedup_by = m.dedup_by});
  }
  if (s.numbers.empty()) return answer_publish(s);
  s.numbering = Numbers::asked;
  s.routes.clear();
  ask(s, Durability::memory);
  return CallStep::route;
}

void note_numbers(SnsState& s) {
  s.numbering = Numbers::taken;
  each_outcome(s, [&](SnsMessage& m, const SendEntry& number, Errc outcome) {
    if (outcome != Errc::ok) return refuse(m, outcome);
    m.message_id = uuid_text(message_id(s.config->secret, s.row->id, number.seq));
    write_sequence_number(m.sequence_number, first_sequence_number + number.seq);
  });
}

void confirm_numbers(SnsState& s) {
  s.numbering = Numbers::confirming;
  ask(s, Durability::fsync);
}

void note_confirmation(SnsState& s) {
  s.numbering = Numbers::durable;
  each_outcome(s, [](SnsMessage& m, const SendEntry&, Errc outcome) {
    if (outcome != Errc::ok) refuse(m, outcome);
  });
}

}  // namespace pawl::sns

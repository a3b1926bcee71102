// SPDX-License-Identifier: Apache-2.0
// Model of requests that name messages by their ids, and of deliveries returned as uncounted.
#include <algorithm>

#include "tests/sim/model.h"

namespace pawl::sim {

bool Model::is_here(std::uint32_t id, std::uint32_t queue) const {
  const ModelMessage& message = messages_[id];
  using Sent = ModelMessage::Sent;
  const bool answered = message.sent == Sent::acked || message.sent == Sent::early;
  return answered && message.queue == queue && message.seq != 0;
}

bool Model::born_here(std::uint32_t id, std::uint32_t queue) const {
  const ModelMessage& message = messages_[id];
  return is_here(id, queue) && message.born_seq == message.seq &&
         message.born_queue == queues_[queue].id && message.origin.empty();
}

// From the request to the answer the message was neither with a consumer nor on its way.
bool Model::surely_nobodys(const Call& call, const ModelMessage& message) const {
  return surely_alive(message) && message.acked_step <= call.asked_step && message.moves == 0 &&
         message.view.step <= call.asked_step && message.view.received.high == 0 &&
         !message.wanders && !row(message).may_move && row(message).starts == 0;
}

void View::uncount(bool sure, Instant low, Instant high) {
  given_back = true;
  received.low = std::max<std::int64_t>(0, received.low - 1);
  if (sure) --received.high;
  from_low = sure ? low : std::min(from_low, low);
  from_high = sure ? high : std::max(from_high, high);
  if (received.low == 0) first = Instant{};
}

// The broker says that the message was gone when the call was decided.
void Model::check_gone(const Call& call, std::uint32_t id, std::string_view what) {
  const ModelMessage& message = messages_[id];
  if (surely_alive(message) && message.acked_step <= call.asked_step && !message.wanders)
    trace_->broken("an acknowledged send is kept", "message {} is gone for {}", id, what);
}

void Model::answered_cancel_by_id(const Call& call, std::size_t index, const Turn& turn) {
  const std::uint32_t id = call.messages[index];
  const ReceiptEntry& entry = call.receipts[index];
  ModelMessage& message = messages_[id];
  if (entry.error == Errc::message_id_invalid)
    return trace_->broken("an id names its message", "message {}", id);
  if (!is_here(id, call.queue)) return;  // it has moved on
  if (entry.error == Errc::message_in_flight) {
    if (surely_nobodys(call, message))
      trace_->broken("what nobody has can be cancelled", "message {}, call {}", id, call.number);
    return;
  }
  if (entry.error != Errc::ok)
    return trace_->broken("an id names its message", "message {}: {}", id, name_of(entry.error));
  if (!entry.cancelled) return check_gone(call, id, "a cancel");
  trace_->note("  message {} cancelled", id);
  message.features |=
      bit(entry.by == ReceiptEntry::By::id ? Feature::cancel : Feature::cancel_in_flight);
  // One in flight holds its group until its consumer gives it back.
  if (entry.by == ReceiptEntry::By::id) {
    lose(message, "cancelled");
  } else {
    message.cancelled = true;
  }
  if (call.request.durability == Durability::fsync) return;
  shards_[raw(call.target)].deleted_early.emplace_back(id, turn.step);
  row(call).lost_step[message.group] = turn.step + 1;
}

void Model::answered_reschedule(const Call& call, std::size_t index, const Turn& turn) {
  const std::uint32_t id = call.messages[index];
  const ReceiptEntry& entry = call.receipts[index];
  ModelMessage& message = messages_[id];
  if (!born_here(id, call.queue)) return;  // it has moved on
  if (entry.error == Errc::message_in_flight) {
    if (surely_nobodys(call, message))
      trace_->broken("what nobody has can be changed", "message {}, call {}", id, call.number);
    return;
  }
  if (entry.error == Errc::message_gone) return check_gone(call, id, "a new time");
  if (entry.error != Errc::ok)
    return trace_->broken("an id names its message", "message {}: {}", id, name_of(entry.error));
  durable(call.target, call.exact ? call.decided_step : call.asked_step);
  View view = message.view;
  const bool sure = view.step <= call.asked_step && message.moves == 0;
  View changed = view;
  changed.from_low = decided_low(call) + entry.visibility;
  changed.from_high = decided_high(call, turn) + entry.visibility;
  if (row(call).apart) {
    const bool fresh = view.received.high == 0 && !view.given_back;
    const bool from_then = sure && fresh && entry.visibility.ms > 0;
    message.aged = from_then ? changed.from_low : std::min(message.aged, changed.from_low);
    message.latest = std::max(message.latest, changed.from_high);
  }
  if (!sure || view.received.high == 0) live_again(message, changed.from_low, changed.from_high);
  // It was visible, and stays so: no record tells of it.
  if (!sure || entry.visibility.ms == 0)
    changed.from_low = std::min(view.from_low, changed.from_low);
  if (!sure) {
    changed.from_high = std::max(view.from_high, changed.from_high);
  }
  changed.leased = false;
  changed.scheduled = true;
  changed.durable = changed.idle = sure;
  changed.step = turn.step;
  message.returned = true;  // its queue's delay no longer applies
  message.features |= bit(Feature::reschedule);
  trace_->note("  message {} is due at {}..{}", id, changed.from_low.ms, changed.from_high.ms);
  set_view(message, changed);
}

void Model::answered_uncounted(const Call& call, std::size_t index, const Turn& turn) {
  const std::uint32_t id = call.messages[index];
  const ReceiptEntry& entry = call.receipts[index];
  ModelMessage& message = messages_[id];
  if (entry.error == Errc::receipt_expired) {
    if (surely_held(message, entry, call, decided_high(call, turn)))
      trace_->broken("a handle is good until its time", "message {}, call {}", id, call.number);
    return;
  }
  if (entry.error == Errc::message_gone) return check_gone(call, id, "its consumer");
  if (entry.error != Errc::ok)
    return trace_->broken("a handle is good until its time", "message {}: {}", id,
                          name_of(entry.error));
  View view = message.view;
  const Instant low = decided_low(call) + entry.visibility;
  const Instant high = decided_high(call, turn) + entry.visibility;
  const bool sure = view.step <= call.asked_step && message.moves == 0;
  view.uncount(sure, low, high);
  if (row(call).apart) message.latest = std::max(message.latest, view.from_high);
  view.leased = view.durable = false;
  view.scheduled = true;
  view.idle = sure;
  message.features |= bit(Feature::uncounted);
  view.step = turn.step;
  message.returned = true;
  trace_->note("  message {} given back, uncounted", id);
  set_view(message, view);
}

}  // namespace pawl::sim

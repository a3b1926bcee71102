// SPDX-License-Identifier: Apache-2.0
// Model of FIFO queues: order, deduplication, receive attempts, and receipt handles that expire.
#include <algorithm>
#include <utility>

#include "core/queue/dedup.h"
#include "tests/sim/model.h"

namespace pawl::sim {
namespace {

// A receive gives up after so many dead letters.
constexpr std::size_t dead_letters_max = 60;
constexpr Duration clock_back_max = seconds(3600);

}  // namespace

// --- order ---

// A delivered message must be the first of its group, apart from messages delivered with it.
void Model::check_order(const Call& call, std::size_t index, const Turn& turn) {
  if (trace_->lenient()) return;  // a message set aside is skipped, and is back after a startup
  const QueueRow& queue = row(call);
  if (queue.passes.low != queue.passes.high) return;
  if (queue.passes.low == 1) return check_passing_order(call, index, turn);
  // A repeated attempt has messages that passed others before a change.
  if (call.again && queue.passed_once) return;
  const ModelMessage& message = messages_[call.messages[index]];
  for (const std::uint32_t id : queue.messages) {
    ModelMessage& earlier = messages_[id];
    if (earlier.group != message.group || earlier.seq == 0 || earlier.seq >= message.seq) continue;
    if (earlier.gone == ModelMessage::Gone::yes || earlier.sent == ModelMessage::Sent::refused)
      continue;
    const auto with_it = call.messages.begin() + static_cast<std::ptrdiff_t>(index);
    if (std::find(call.messages.begin(), with_it, id) != with_it) continue;
    if (earlier.wanders || earlier.deletes > 0 || queue.purges > 0 || queue.deletes > 0) continue;
    if (may_be_expired(earlier)) continue;  // and a crash may bring it back
    const bool here = earlier.sent != ModelMessage::Sent::doubtful &&
                      earlier.gone == ModelMessage::Gone::no && !earlier.cancelled;
    if (!here) {
      lose(earlier, "a later one of its group came");
      continue;
    }
    return trace_->broken("a group is in order",
                          "message {} (seq {}) to call {}, and not {} (seq {}) before it",
                          call.messages[index], message.seq, call.number, id, earlier.seq);
  }
}

// In a queue with x-fifo-delay=pass: one that was delivered precedes one that was not. Of two that
// were not, the one with the earlier time precedes.
bool Model::surely_precedes(const ModelMessage& message, const ModelMessage& other) {
  if (is_fresh(message)) {
    const bool before = message.view.from_high < other.view.from_low ||
                        (message.view.from_high == other.view.from_low && message.seq < other.seq);
    return is_fresh(other) && before;
  }
  if (message.view.received.low == 0) return false;
  return is_fresh(other) || (other.view.received.low > 0 && message.seq < other.seq);
}

void Model::check_passing_order(const Call& call, std::size_t index, const Turn& turn) {
  const QueueRow& queue = row(call);
  const std::uint32_t id = call.messages[index];
  const ModelMessage& message = messages_[id];
  const auto broken = [&](std::uint32_t other) {
    trace_->broken("a group is in order",
                   "message {} (seq {}, due at {}) to call {}, and not {} (seq {}, due at {})", id,
                   message.seq, message.view.from_low.ms, call.number, other, messages_[other].seq,
                   messages_[other].view.from_high.ms);
  };
  const auto with_it = call.messages.begin() + static_cast<std::ptrdiff_t>(index);
  for (auto before = call.messages.begin(); before != with_it; ++before) {
    if (is_message(*before) && messages_[*before].group == message.group &&
        messages_[*before].seq > message.seq)
      return broken(*before);
  }
  if (call.again || queue.purges > 0 || queue.deletes > 0) return;
  for (const std::uint32_t other : queue.messages) {
    const ModelMessage& first = messages_[other];
    if (other == id || first.group != message.group || first.seq == 0) continue;
    if (first.queue != message.queue || std::find(call.messages.begin(), with_it, other) != with_it)
      continue;
    const bool here = surely_alive(first) && !first.wanders && first.moves == 0;
    const bool there = !is_fresh(first) || surely_ready(first, turn.step, turn.fired);
    if (here && there && surely_precedes(first, message)) return broken(other);
  }
}

// A message may be on its way to another queue when a later one of its group is received. Then no
// crash takes it back.
void Model::note_passed(const Call& call) {
  const QueueRow& queue = row(call);
  if (trace_->lenient() || queue.purges > 0 || queue.deletes > 0) return;
  if (queue.passed_once) return;  // a message may have been passed while it was delayed
  for (std::size_t i = 0; i < call.request.delivered; ++i) {
    if (!is_message(call.messages[i])) continue;
    const ModelMessage& later = messages_[call.messages[i]];
    if (later.queue != call.queue || later.seq != call.deliveries[i].seq) continue;  // has moved on
    for (const std::uint32_t id : queue.messages) {
      ModelMessage& earlier = messages_[id];
      const bool before = earlier.group == later.group && earlier.seq != 0 &&
                          earlier.seq < later.seq && earlier.wanders;
      const bool sure = earlier.sent == ModelMessage::Sent::acked &&
                        earlier.gone == ModelMessage::Gone::no && earlier.deletes == 0;
      const bool with_it = std::ranges::find(call.messages, id) != call.messages.end();
      if (before && sure && !with_it && !may_be_expired(earlier)) {
        trace_->note("  message {} was passed by {}", id, call.messages[i]);
        earlier.passed = true;
      }
    }
  }
}

// For each group: the first message that this call did not deliver must not be ready. Messages in
// front of it may have gone after the call, unless they were known to be gone by the turn `known`.
void Model::check_groups(const Call& call, std::uint64_t step, std::uint64_t known, Instant fired,
                         std::string_view name) {
  const QueueRow& queue = row(call);
  if (may_have_copies(queue)) return;  // a copy may be in front
  if (queue.passes.low != queue.passes.high) return;
  if (queue.passes.low == 1) return check_passing_groups(call, step, known, fired, name);
  std::vector<std::uint32_t> sorted;
  for (const std::uint32_t id : queue.messages)
    if (messages_[id].seq != 0) sorted.push_back(id);
  std::ranges::sort(sorted, {}, [&](std::uint32_t id) {
    return std::pair(messages_[id].group, messages_[id].seq);
  });
  const std::set<std::uint32_t> arriving = groups_arriving(call.queue);
  std::uint32_t passed = 0;  // group whose first message may not be ready
  for (const std::uint32_t id : sorted) {
    const ModelMessage& message = messages_[id];
    if (message.group == passed || arriving.contains(message.group)) continue;
    if (queue.letting_go.contains(message.group)) continue;
    if (std::ranges::find(call.messages, id) != call.messages.end()) continue;
    const auto lost = queue.lost_step.find(message.group);
    const bool in_front = lost == queue.lost_step.end() || lost->second <= known;
    if (in_front && surely_ready(message, step, fired))
      return trace_->broken(name, "message {} (seq {} of group {}) to call {}, asked at {}", id,
                            message.seq, message.group, call.number, call.asked_at.ms);
    passed = message.group;
  }
}

// In a queue with x-fifo-delay=pass only a message that was delivered, or one that goes, holds its
// group while it is hidden.
bool Model::may_hold(const ModelMessage& message) const {
  return !is_fresh(message) || message.wanders || message.arrived_step > 0 ||
         may_be_expired(message) || message.life.ms != 0;
}

void Model::check_passing_groups(const Call& call, std::uint64_t step, std::uint64_t known,
                                 Instant fired, std::string_view name) {
  const QueueRow& queue = row(call);
  std::set<std::uint32_t> held = groups_arriving(call.queue);
  held.insert(queue.letting_go.begin(), queue.letting_go.end());
  for (const auto& [group, lost] : queue.lost_step)
    if (lost > known) held.insert(group);
  for (const std::uint32_t id : queue.messages) {
    const ModelMessage& message = messages_[id];
    const bool received = std::ranges::find(call.messages, id) != call.messages.end();
    if (message.seq != 0 &&
        (received || (may_hold(message) && !surely_ready(message, step, fired))))
      held.insert(message.group);
  }
  for (const std::uint32_t id : queue.messages) {
    const ModelMessage& message = messages_[id];
    if (message.seq == 0 || held.contains(message.group) || !surely_ready(message, step, fired))
      continue;
    return trace_->broken(name, "message {} (seq {} of group {}) to call {}, asked at {}", id,
                          message.seq, message.group, call.number, call.asked_at.ms);
  }
}

// A receive that meets so many dead letters may return fewer messages. So may a receive while that
// many moves of other queues are under way, because a shard counts them together.
bool Model::may_stop_short(const Call& call) const {
  if (!any_wandered_) return false;
  std::size_t dead_letters = 0;
  for (std::uint32_t from = 0; from < queues_.size(); ++from) {
    const bool counts =
        queues_[from].owner == queues_[call.queue].owner || leads_to(from, call.queue);
    if (queues_[from].messages.empty() || !counts) continue;
    for (const std::uint32_t id : queues_[from].messages)
      dead_letters += messages_[id].wanders ? 1 : 0;
  }
  // With little memory fewer moves are under way at a time.
  return dead_letters >= dead_letters_max ||
         ((draining_ || world_->little_memory()) && dead_letters > 0);
}

// Groups of messages that may have arrived from other queues, in front of others.
std::set<std::uint32_t> Model::groups_arriving(std::uint32_t at) const {
  std::set<std::uint32_t> groups;
  if (!any_wandered_) return groups;
  for (std::uint32_t from = 0; from < queues_.size(); ++from) {
    if (queues_[from].messages.empty() || !leads_to(from, at)) continue;
    for (const std::uint32_t id : queues_[from].messages)
      if (messages_[id].wanders) groups.insert(messages_[id].group);
  }
  return groups;
}

// --- delay: the queue's delay applies to all messages that were never received ---

void Model::redelay(QueueRow& queue) {
  if (!queue.fifo) return;
  for (const std::uint32_t id : queue.messages) {
    ModelMessage& message = messages_[id];
    if (message.seq == 0 || message.arrived_step > 0 || message.own_delay) continue;
    const auto again = [&](View& view) {
      if (view.received.low > 0) return;
      const Instant low = message.sent_at + Duration{queue.delay.low};
      const Instant high = message.sent_at + Duration{queue.delay.high};
      const bool never = view.received.high == 0 && queue.sets == 0 && !message.returned;
      view.from_low = never ? low : std::min(view.from_low, low);
      view.from_high = never ? high : std::max(view.from_high, high);
    };
    again(message.view);
    if (queue.apart) {
      message.aged = std::min(message.aged, message.sent_at + Duration{queue.delay.low});
      message.latest = std::max(message.latest, message.sent_at + Duration{queue.delay.high});
    }
    // A lower delay shows the message when it is applied, and then its life begins.
    live_again(message, message.sent_at + Duration{queue.delay.low},
               std::max(message.sent_at + Duration{queue.delay.high}, world_->newest_now()));
    message.view.step = std::max(message.view.step, message.decided_step);
    if (message.view.received.low == 0 && message.view.step < queue.set_step)
      message.view.step = queue.set_step;
    for (View& view : message.past) again(view);
  }
}

// --- deduplication ---

// --- scope in force ---

bool ScopeState::may_hold(bool of_group, Instant from, Instant to) const {
  if (!changed) return now == of_group;
  return (before == of_group && from < high + dedup_window) ||
         (now == of_group && to >= low + dedup_window);
}

// Requests that are under way together may be decided in any order.
void Model::asked_scope(QueueRow& queue, bool of_group, Instant at) {
  may_change_scope(queue, of_group, at);
  for (std::uint32_t others = std::min(queue.sets, 3u); others > 1; --others) {
    may_change_scope(queue, !of_group, at);
    may_change_scope(queue, of_group, at);
  }
}

// Adds the states after a change that may be made at any time from `at` on, or never.
void Model::may_change_scope(QueueRow& queue, bool of_group, Instant at) {
  const std::vector<ScopeState> states = queue.scopes;
  for (const ScopeState& base : states) {
    if (base.now == of_group) continue;
    for (const bool before : {false, true}) {
      if (!base.may_hold(before, at, never)) continue;
      const ScopeState changed{.before = before,
                               .now = of_group,
                               .changed = true,
                               .low = at,
                               .high = never,
                               .fresh = true,
                               .base_before = base.before,
                               .base_now = base.now,
                               .base_changed = base.changed,
                               .base_low = base.low,
                               .base_high = base.high};
      if (std::ranges::find(queue.scopes, changed) == queue.scopes.end())
        queue.scopes.push_back(changed);
    }
  }
}

// The change was made between `low` and `high`, with no other change in between.
void Model::settle_scope(QueueRow& queue, bool of_group, Instant low, Instant high) {
  std::erase_if(queue.scopes, [&](ScopeState& state) {
    if (state.now != of_group) return true;
    if (!std::exchange(state.fresh, false)) return false;
    const ScopeState base{.before = state.base_before,
                          .now = state.base_now,
                          .changed = state.base_changed,
                          .low = state.base_low,
                          .high = state.base_high};
    state.low = low;
    state.high = high;
    return !base.may_hold(state.before, low, high);
  });
}

// No change is under way any more; a change without a response was made or not.
void Model::end_scope_changes(QueueRow& queue) {
  if (queue.sets > 0) return;
  for (ScopeState& state : queue.scopes)
    if (std::exchange(state.fresh, false)) state.high = world_->newest_now();
}

// The key of the scope in force is the key under which a message is accepted. A send is looked up
// under that key, and for two windows after a change under the other key too.
void Model::judge_send(QueueRow& queue, const ModelMessage& message, const SendEntry& entry,
                       const Turn& turn) {
  if (!queue.fifo) return judge_once(queue, message, entry, turn);
  struct Key {
    std::vector<First>* firsts = nullptr;
    bool may_hold = false, holds = true;  // the scope of the key
    bool may_look = false, looks = true;  // the shard looks it up under this key
  } keys[2];
  for (const bool of_group : {false, true}) {
    Key& key = keys[of_group ? 1 : 0];
    key.firsts = &queue.firsts[{of_group ? message.group : 0, message.dedup}];
    // The clock may go back to before a crash: entries are kept for longer than their window.
    std::erase_if(*key.firsts,
                  [&](const First& f) { return f.at + dedup_window + clock_back_max <= turn.now; });
    for (const ScopeState& state : queue.scopes) {
      const bool may_hold = state.may_hold(of_group, turn.now, turn.now);
      const bool holds = !state.may_hold(!of_group, turn.now, turn.now);
      key.may_hold |= may_hold;
      key.holds &= holds;
      key.may_look |= may_hold || state.both_may_count(turn.now);
      key.looks &= holds || state.both_count(turn.now);
    }
  }
  const auto counts = [&](const First& f) { return f.at + dedup_window > turn.now; };
  const auto sure = [&](const First& f) { return f.sure && queue.purges == 0 && counts(f); };
  if (!entry.duplicate) {
    for (const Key& key : keys) {
      const auto first = std::ranges::find_if(*key.firsts, sure);
      if (key.looks && first != key.firsts->end())
        return trace_->broken("a duplicate is not accepted",
                              "queue {} seq {}: seq {} came {} ms before", raw(queue.id), entry.seq,
                              first->seq, (turn.now - first->at).ms);
      std::erase_if(*key.firsts, [&](const First& f) { return f.seq == entry.seq; });
      if (key.looks)
        for (First& other : *key.firsts) other.sure = false;
      if (key.may_hold) key.firsts->push_back({entry.seq, turn.now, turn.step, key.holds});
    }
    return;
  }
  // A message accepted in this very turn may have come after the duplicate.
  bool found = false;
  for (const Key& key : keys) {
    const auto first = std::ranges::find_if(
        *key.firsts, [&](const First& f) { return f.seq == entry.seq && counts(f); });
    const bool here = first != key.firsts->end();
    const bool another = std::ranges::any_of(*key.firsts, [&](const First& f) {
      return sure(f) && f.seq != entry.seq && f.step < turn.step;
    });
    found |= here && key.may_look;
    if (key.holds && another)
      return trace_->broken("a duplicate is one", "queue {}: another was before seq {}",
                            raw(queue.id), entry.seq);
  }
  if (!found)
    return trace_->broken("a duplicate is one", "queue {}: nothing is known of a first seq {}",
                          raw(queue.id), entry.seq);
  // Unless it may have been accepted under the other key, it is there now for sure.
  const auto known = [&](const Key& key) {
    return std::ranges::any_of(*key.firsts, [&](const First& f) { return f.seq == entry.seq; });
  };
  for (const int here : {0, 1}) {
    if (!known(keys[here]) || known(keys[1 - here]) || !keys[here].holds) continue;
    for (First& first : *keys[here].firsts) first.sure = first.seq == entry.seq;
  }
}

// Forgets entries at a purge, which was decided in turn `step` (`exact`), or then or later.
void Model::forget_firsts(QueueRow& queue, std::uint64_t step, bool exact) {
  for (auto& [key, firsts] : queue.firsts) {
    if (!queue.fifo && key.first != publisher) continue;  // producers are remembered
    std::erase_if(firsts, [&](const First& first) { return first.step < step; });
    for (First& first : firsts) first.sure &= exact && first.step != step;
  }
}

void Model::crashed_in_order(QueueRow& queue, std::uint64_t durable_step) {
  queue.attempts.clear();
  queue.attempts_asked.clear();
  queue.letting_go.clear();
  for (auto& [key, firsts] : queue.firsts) {
    const bool purged = (queue.fifo || key.first == publisher) && queue.purges > 0;
    for (First& first : firsts) first.sure &= first.step <= durable_step && !purged;
  }
  std::erase_if(queue.numbers, [&](const auto& number) { return number.second > durable_step; });
}

// --- attempts ---

// Whether the same attempt had this delivery before: any other delivery has a new nonce.
bool Model::is_again(const Call& call, const ModelMessage& message, std::uint32_t nonce) const {
  const View& view = message.view;
  return call.attempt != 0 && view.nonce_known && view.nonce == nonce && view.received.high > 0;
}

void Model::attempted(const Call& call, const Turn& turn) {
  if (call.attempt == 0) return;
  QueueRow& queue = row(call);
  Attempt now{.at = turn.now, .step = turn.step, .sure = queue.purges == 0, .messages = {}};
  for (std::size_t i = 0; i < call.request.delivered; ++i) {
    const Result<Receipt> receipt = open(world_->receipt_key(), call.deliveries[i].handle);
    now.messages.emplace_back(call.messages[i], receipt ? receipt->nonce : 0);
  }
  const auto known = queue.attempts.find(call.attempt);
  const bool valid =
      known != queue.attempts.end() && turn.now < known->second.at + Attempts::window;
  if (!valid) {
    queue.attempts[call.attempt] = std::move(now);
    return;
  }
  const Attempt& before = known->second;
  if (before.messages == now.messages) {
    known->second.step = turn.step;
    return;
  }
  if (before.sure && before.step <= call.asked_step)
    return trace_->broken("an attempt is one receive", "call {}, attempt {}", call.number,
                          call.attempt);
  // Two receives of the attempt were under way at the same time: it is unknown which one counts.
  queue.attempts[call.attempt].sure = false;
}

void Model::refused_attempt(const Call& call, const Turn& turn) {
  const QueueRow& queue = row(call);
  if (!queue.attempts_asked.contains(call.attempt) || call.attempt == 0)
    return trace_->broken("an error has a reason", "call {}: no attempt {}", call.number,
                          call.attempt);
  const auto known = queue.attempts.find(call.attempt);
  if (known == queue.attempts.end()) return;
  const Attempt& attempt = known->second;
  if (!attempt.sure || attempt.messages.size() > call.deliveries.size()) return;
  const Instant high = decided_high(call, turn);
  const bool untouched = std::ranges::all_of(attempt.messages, [&](const auto& m) {
    if (!is_message(m.first)) return false;
    const ModelMessage& message = messages_[m.first];
    const View& view = message.view;
    return surely_alive(message) && !message.wanders && message.moves == 0 && view.nonce_known &&
           view.nonce == m.second && leased_until(message) > high && view.step == attempt.step &&
           attempt.step <= call.asked_step;
  });
  if (untouched)
    trace_->broken("an attempt is one receive", "call {}: attempt {} is refused", call.number,
                   call.attempt);
}

// --- handles ---

// A lower bound of the end of its visibility timeout, before a back-off.
Instant Model::leased_until(const ModelMessage& message) const {
  return message.view.from_low - Duration{row(message).backoff.high};
}

// Whether the holder of this handle had the message all the time while the call was under way.
bool Model::surely_held(const ModelMessage& message, const ReceiptEntry& entry, const Call& call,
                        Instant high) const {
  const Result<Receipt> receipt = open(world_->receipt_key(), entry.handle);
  const View& view = message.view;
  return receipt && surely_alive(message) && !message.wanders && message.moves == 0 &&
         !view.scheduled && !view.given_back && view.nonce_known && view.nonce == receipt->nonce &&
         view.step <= call.asked_step && leased_until(message) > high;
}

void Model::check_expired_handle(const Call& call, std::size_t index, const Turn& turn) {
  const ReceiptEntry& entry = call.receipts[index];
  const ModelMessage& message = messages_[call.messages[index]];
  const View& view = message.view;
  if (entry.error == Errc::receipt_expired) {
    if (surely_held(message, entry, call, decided_high(call, turn)))
      trace_->broken("a handle is good until its time", "message {}, call {}", call.messages[index],
                     call.number);
    return;
  }
  if (entry.error != Errc::ok || !surely_alive(message) || message.wanders || message.moves > 0)
    return;
  if (view.step > call.asked_step || message.acked_step > call.asked_step) return;
  const Result<Receipt> receipt = open(world_->receipt_key(), entry.handle);
  const bool stale = view.nonce_known && receipt && view.nonce != receipt->nonce;
  if (stale || view.from_high <= call.fired_when_asked)
    trace_->broken("an expired handle is refused", "message {}, call {}", call.messages[index],
                   call.number);
}

}  // namespace pawl::sim

// SPDX-License-Identifier: Apache-2.0
#include "core/shard/expiry.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/mutant.h"

namespace pawl {

// An entry of a message that has become visible since, or is not yet, is out of date.
bool Expiry::is_older(IndexEntry indexed, Duration retention, Instant now) const {
  if (indexed.is_pending()) return false;
  if (!indexed.is_slot()) return true;
  const Slot& slot = state_.slots[indexed.slot()];
  CHECK(slot.state != Slot::State::free, "seq {} has a free slot", slot.seq);
  if (!slot.aged_apart || !slot.never_delivered()) return true;
  return slot.state == Slot::State::visible && slot.deadline + retention <= now;
}

// Ends the messages of `times` whose time has come. True: too much is under way for the next one.
bool Expiry::end_listed(Queue& queue, AgedArrivals* times, Returns::Ended ended, std::size_t& left,
                        Instant now, Effects& effects) {
  const bool by_retention = ended == Returns::Ended::retention;
  const Duration after = by_retention ? queue.config->retention() : Duration{0};
  for (; left > 0 && times != nullptr; --left) {
    const AgedArrivals::Entry entry = times->expired(now, after);
    CHECK(entry.second < queue.next_seq, "seq {} of {} sent", entry.second, queue.next_seq);
    if (entry.second == 0) break;
    const IndexEntry indexed = queue.index.find(entry.second);
    const bool over = !by_retention || (!indexed.absent() && is_older(indexed, after, now));
    if (over && !returns_.expire(queue, entry.second, ended, now, effects)) return true;
    times->remove(entry);
  }
  return false;
}

// No message below was left, except messages set aside that are past the retention.
Seq Expiry::oldest_apart(const Queue& queue) {
  const Seq oldest = queue.index.size() == 0 ? seq_max : queue.index.oldest();
  const auto aside = std::ranges::find(queue.set_aside, true, &TrackedMessage::aged_apart);
  return aside == queue.set_aside.end() ? oldest : std::min(oldest, aside->seq);
}

// True: there are more.
bool Expiry::delete_older(Queue& queue, std::size_t& left, Instant now, Effects& effects) {
  queue.expired = std::max(queue.expired, queue.times.expire(now, queue.config->retention()));
  const std::uint64_t before = queue.index.size();
  Seq seq = queue.index.first_from(queue.swept);
  for (; left > 0 && seq != 0 && seq < queue.expired; --left) {
    const bool apart = queue.keeps_apart && states_.is_apart(queue.index.find(seq));
    if (!apart || MUTANT(forget_delivery_age)) {
      states_.erase(queue, seq, effects.freed);
      if (queue.keeps_apart) effects.deletes.push_back({queue.id, seq});
    }
    seq = queue.index.first_from(seq + 1);
  }
  const bool more = seq != 0 && seq < queue.expired;
  queue.swept = std::max(queue.swept, more ? seq : queue.expired);
  const Seq below = queue.keeps_apart ? std::min(queue.swept, oldest_apart(queue)) : queue.swept;
  CHECK(below <= queue.next_seq, "below {} of {} sent", below, queue.next_seq);
  queue.low = std::max(queue.low, below);
  if (const std::uint64_t gone = before - queue.index.size(); gone > 0) {
    state_.statistics.leave(queue, QueueCounter::expired, gone);
    // Recorded, so that a longer retention set later does not bring them back after a restart.
    effects.purges.push_back({.queue = queue.id, .below = below, .at = Instant{}});
  }
  return more;
}

// The same with x-dlq-on-expiry. A message that cannot move now waits, and so do those behind it;
// their times of sending are known as long.
bool Expiry::move_older(Queue& queue, std::size_t& left, Instant now, Effects& effects) {
  const Duration retention = queue.config->retention();
  const Seq below = std::max(queue.expired, queue.times.expired_below(now, retention));
  Seq seq = queue.index.first_from(queue.swept);
  for (; left > 0 && seq != 0 && seq < below; --left) {
    if (!states_.is_apart(queue.index.find(seq))) {
      if (!returns_.expire(queue, seq, Returns::Ended::retention, now, effects)) break;
      const IndexEntry indexed = queue.index.find(seq);
      CHECK(indexed.is_slot(), "seq {} moves without a slot", seq);
      queue.keep_apart(state_.slot(indexed.slot()));  // the sweep has passed it
    }
    seq = queue.index.first_from(seq + 1);
  }
  const bool more = seq != 0 && seq < below;
  CHECK(below <= queue.next_seq, "below {} of {} sent", below, queue.next_seq);
  const Seq swept = more ? seq : below;
  queue.expired = std::max(queue.expired, swept);
  queue.swept = std::max(queue.swept, swept);
  if (!more) queue.times.expire(now, retention);
  return more;
}

std::size_t Expiry::expire(Queue& queue, Instant now, Effects& effects) {
  CHECK(queue.config != nullptr, "queue {} is not in the directory", raw(queue.id));
  const std::size_t most = state_.limits.retired_a_turn;
  std::size_t left = most;
  using enum Returns::Ended;
  bool crowded = end_listed(queue, queue.ttl_ends.get(), time_to_live, left, now, effects);
  crowded |= end_listed(queue, queue.aged.get(), retention, left, now, effects);
  const bool more = returns_.moves_expired(queue) ? move_older(queue, left, now, effects)
                                                  : delete_older(queue, left, now, effects);
  if (left == 0) {
    retention_.arm_retention(queue, now + milliseconds(1));
  } else if (more || crowded) {
    retention_.arm_retention(queue, now + Returns::crowded_pause);
  } else {
    retention_.arm_retention(queue);
  }
  return std::max<std::size_t>(1, most - left);
}

}  // namespace pawl

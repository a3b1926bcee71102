// SPDX-License-Identifier: Apache-2.0
// Deletion of messages without a request: purge, retention, and the rest of deleted queues.
#include <algorithm>

#include "core/check.h"
#include "core/mutant.h"
#include "core/shard.h"

namespace pawl {
namespace {

constexpr Duration purge_pause = seconds(60);
constexpr Duration fifo_pause = seconds(1);  // of a busy queue, which forgets most itself

}  // namespace

// --- purge ---

void Shard::purge(Queue& queue, Request& request, Instant now, Effects& effects) {
  if (now - queue.purged_at < purge_pause) {
    request.error = Errc::purge_in_progress;
    effects.replies.push_back({&request, false});
    return;
  }
  queue.purged_at = now;
  retire(queue);
  if (!MUTANT(forget_purge_record)) {
    effects.purges.push_back({.queue = queue.id, .below = queue.next_seq, .at = now});
  }
  effects.replies.push_back({&request, true});
}

// Deletes all messages of the queue; later turns free their memory.
void Shard::retire(Queue& queue) {
  retired_queues_.push_back({std::move(queue.index), std::move(queue.groups),
                             MUTANT(purge_keeps_dedup) ? nullptr : std::move(queue.fifo),
                             std::move(queue.aged), std::exchange(queue.set_aside, {}),
                             UsageCounter(kept_bytes_)});
  retired_queues_.back().kept.set(retired_queues_.back().set_aside.capacity() *
                                  sizeof(TrackedMessage));
  queue.count_kept();
  queue.index = SeqIndex(pages_);
  queue.times.clear();
  queue.in_flight = queue.delayed = queue.slots = queue.leaving = 0;
  queue.low = queue.next_seq;
}

void Shard::reclaim_retired(Effects& effects) {
  std::size_t reclaimed = 0;
  while (!retired_queues_.empty() && reclaimed < limits_.retired_a_turn) {
    Retired& retired = retired_queues_.front();
    const bool any = retired.index.drain_page([&](Seq, IndexEntry indexed) {
      ++reclaimed;
      give_back(indexed, effects.freed);
    });
    if (any) continue;
    if (reclaimed >= limits_.retired_a_turn) return;
    const std::size_t rest = limits_.retired_a_turn - reclaimed;
    if (retired.fifo) {
      const std::size_t before = retired.fifo->size();
      if (!retired.fifo->forget_over(never, rest)) return;
      reclaimed += before;
      retired.fifo.reset();
    }
    if (retired.aged) {
      const std::size_t before = retired.aged->size();
      if (!retired.aged->forget(rest)) return;
      reclaimed += before;
      retired.aged.reset();
    }
    for (; !retired.set_aside.empty() && reclaimed < limits_.retired_a_turn; ++reclaimed) {
      effects.freed.push_back(retired.set_aside.back().position);
      retired.set_aside.pop_back();
    }
    if (!retired.set_aside.empty()) return;
    retired_queues_.pop_front();
  }
}

// --- retention ---

AgedArrivals& Shard::aged_of(Queue& queue) {
  if (!queue.aged) queue.aged = std::make_unique<AgedArrivals>(times_bytes_);
  return *queue.aged;
}

void Shard::arm_retention(Queue& queue) {
  if (queue.config == nullptr || MUTANT(forget_retention)) return;
  const Duration retention = queue.config->retention();
  const Instant due = std::min(queue.times.next_expiry(retention),
                               queue.aged ? queue.aged->next_expiry(retention) : never);
  if (due == never || due == queue.retention_armed) return;
  arm_retention(queue, due);
}

void Shard::arm_retention(Queue& queue, Instant due) {
  if (queue.retention_armed != never) timers_.cancelled();
  queue.retention_armed = due;
  timers_.arm(due, timer_retention, raw(queue.id), ++queue.retention_generation);
}

void Shard::expire_retention(Queue& queue, Instant now, Effects& effects) {
  const Duration retention = queue.config->retention();
  std::size_t left = limits_.retired_a_turn;
  for (; left > 0 && queue.aged; --left) {
    const Seq seq = queue.aged->expire(now, retention);
    if (seq == 0) break;
    if (queue.index.find(seq).absent()) continue;
    erase(queue, seq, effects.freed);
    effects.deletes.push_back({queue.id, seq});
  }
  queue.expired = std::max(queue.expired, queue.times.expire(now, retention));
  const std::uint64_t before = queue.index.size();
  Seq seq = queue.index.oldest();
  for (; left > 0 && seq != 0 && seq < queue.expired; --left) {
    erase(queue, seq, effects.freed);
    seq = queue.index.first_from(seq + 1);
  }
  const bool more = seq != 0 && seq < queue.expired;
  const Seq below = more ? seq : queue.expired;
  queue.low = std::max(queue.low, below);
  if (queue.index.size() < before) {
    // Recorded, so that a longer retention set later does not bring them back after a restart.
    effects.purges.push_back({.queue = queue.id, .below = below, .at = Instant{}});
  }
  if (!more && left > 0) return arm_retention(queue);
  arm_retention(queue, now + milliseconds(1));
}

// --- what FIFO queues remember ---

Fifo& Shard::fifo_of(Queue& queue) {
  if (!queue.fifo) queue.fifo = std::make_unique<Fifo>(deduplicated_, attempts_bytes_, fifo_bytes_);
  return *queue.fifo;
}

void Shard::arm_fifo(Queue& queue, Instant not_before) {
  if (queue.fifo_armed || !queue.fifo || queue.fifo->next_over() == never) return;
  queue.fifo_armed = true;
  timers_.arm(std::max(queue.fifo->next_over(), not_before), timer_fifo, raw(queue.id),
              ++queue.fifo_generation);
}

void Shard::expire_fifo(Queue& queue, Instant now) {
  if (!queue.fifo) return;  // purged
  const bool all = queue.fifo->forget_over(now, limits_.forgotten_a_turn);
  arm_fifo(queue, now + (all ? fifo_pause : milliseconds(1)));
}

}  // namespace pawl

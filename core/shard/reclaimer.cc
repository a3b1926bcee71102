// SPDX-License-Identifier: Apache-2.0
#include "core/shard/reclaimer.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/mutant.h"

namespace pawl {
namespace {

constexpr Duration purge_pause = seconds(60);

}  // namespace

void Reclaimer::purge(Queue& queue, Request& request, Instant now, Effects& effects) {
  if (now - queue.purged_at < purge_pause) {
    request.error = Errc::purge_in_progress;
    effects.replies.push_back({&request, false});
    return;
  }
  queue.purged_at = now;
  retire(queue, effects);
  if (MUTANT(purge_forgets_producers)) queue.producers.reset();
  if (!MUTANT(forget_purge_record)) {
    effects.purges.push_back({.queue = queue.id, .below = queue.next_seq, .at = now});
  }
  effects.replies.push_back({&request, true});
}

// Deletes all messages of the queue; later turns free their memory.
void Reclaimer::retire(Queue& queue, const Effects& effects) {
  CHECK(queue.low <= queue.next_seq, "from {} to {}", queue.low, queue.next_seq);
  // The index gets the messages of this turn at its end.
  const auto of_this_turn = std::ranges::count_if(effects.sends, [&](const SendRecord& record) {
    return record.queue == queue.id && record.seq >= queue.low &&
           queue.index.find(record.seq).absent();
  });
  state_.statistics.leave(queue, QueueCounter::purged,
                          queue.index.size() + static_cast<std::uint64_t>(of_this_turn));
  retired_.push_back({std::move(queue.index), std::move(queue.groups),
                      MUTANT(purge_keeps_dedup) ? nullptr : std::move(queue.fifo),
                      std::move(queue.aged), std::move(queue.ttl_ends),
                      queue.pending ? std::move(queue.pending->calendar) : nullptr, nullptr,
                      std::exchange(queue.set_aside, {}), UsageCounter(state_.kept_bytes.write())});
  state_.arm(ShardPart::reclaim);
  retired_.back().kept.set(retired_.back().set_aside.capacity() * sizeof(TrackedMessage));
  queue.count_kept();
  queue.index = state_.new_index();
  queue.times.clear();
  if (queue.pending) queue.pending->count = 0;
  queue.in_flight = queue.delayed = queue.slots = queue.leases = queue.leaving = 0;
  queue.low = queue.next_seq;
}

void Reclaimer::retire_deleted(Queue& queue, const Effects& effects) {
  retire(queue, effects);
  retired_.back().producers = std::move(queue.producers);
}

void Reclaimer::reclaim(Effects& effects) {
  std::size_t reclaimed = 0;
  while (!retired_.empty() && reclaimed < state_.limits.retired_a_turn) {
    Retired& retired = retired_.front();
    const bool any = retired.index.drain_page([&](Seq, IndexEntry indexed) {
      ++reclaimed;
      states_.release(indexed, effects.freed);
    });
    if (any) continue;
    CHECK(retired.index.size() == 0 && retired.index.ready() == 0, "{} messages are left",
          retired.index.size());
    if (reclaimed >= state_.limits.retired_a_turn) return;
    const std::size_t rest = state_.limits.retired_a_turn - reclaimed;
    if (retired.fifo) {
      const std::size_t before = retired.fifo->size();
      if (!retired.fifo->forget_over(never, rest)) return;
      reclaimed += before;
      retired.fifo.reset();
    }
    for (std::unique_ptr<AgedArrivals>* const times : {&retired.aged, &retired.ttl_ends}) {
      if (!*times) continue;
      const std::size_t before = (*times)->size();
      if (!(*times)->forget(rest)) return;
      reclaimed += before;
      times->reset();
    }
    if (retired.calendar) {
      const std::size_t before = retired.calendar->size();
      if (!retired.calendar->forget(rest)) return;
      reclaimed += before;
      retired.calendar.reset();
    }
    if (retired.producers) {
      const std::size_t before = retired.producers->size();
      if (!retired.producers->forget_over(never, rest)) return;
      reclaimed += before;
      retired.producers.reset();
    }
    for (; !retired.set_aside.empty() && reclaimed < state_.limits.retired_a_turn; ++reclaimed) {
      effects.freed.push_back(retired.set_aside.back().position);
      retired.set_aside.pop_back();
    }
    if (!retired.set_aside.empty()) return;
    retired_.pop_front();
  }
}

}  // namespace pawl

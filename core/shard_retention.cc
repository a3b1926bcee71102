// How messages go without being deleted: purge, retention, and what is left of queues that are gone.
#include <algorithm>

#include "core/check.h"
#include "core/mutant.h"
#include "core/shard.h"

namespace pawl {
namespace {

constexpr Duration purge_pause = seconds(60);
constexpr Duration dedup_pause = seconds(1);  // of a busy queue, which frees most itself

}  // namespace

// --- purge ---

void Shard::purge(Queue& queue, Request& request, Instant now, Effects& effects) {
  if (now - queue.purged_at < purge_pause) {
    request.error = Errc::purge_in_progress;
    effects.replies.push_back({&request, false});
    return;
  }
  queue.purged_at = now;
  doom(queue);
  if (!MUTANT(forget_purge_record)) {
    effects.purges.push_back({.queue = queue.id, .below = queue.next_seq, .at = now});
  }
  effects.replies.push_back({&request, true});
}

// All messages of the queue go; the memory is given back in the turns to come.
void Shard::doom(Queue& queue) {
  doomed_.push_back(
      {std::move(queue.index), std::move(queue.groups), std::exchange(queue.set_aside, {})});
  queue.index = SeqIndex(pages_);
  if (!MUTANT(purge_keeps_dedup)) queue.fifo.reset();
  queue.times.clear();
  queue.aged.clear();
  queue.in_flight = queue.delayed = queue.slots = queue.leaving = 0;
  queue.low = queue.next_seq;
}

void Shard::give_back_doomed(Effects& effects) {
  std::size_t given = 0;
  while (!doomed_.empty() && given < limits_.doomed_a_turn) {
    const bool any = doomed_.front().index.drain_page([&](Seq, Place place) {
      ++given;
      give_back(place, effects.freed);
    });
    if (any) continue;
    for (const MessageState& message : doomed_.front().set_aside)
      effects.freed.push_back(message.position);
    doomed_.pop_front();
  }
}

// --- retention ---

void Shard::arm_retention(Queue& queue) {
  if (queue.config == nullptr || MUTANT(forget_retention)) return;
  const Duration retention = queue.config->retention();
  const Instant due =
      std::min(queue.times.next_expiry(retention), queue.aged.next_expiry(retention));
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
  std::size_t left = limits_.doomed_a_turn;
  for (Seq seq = 0; left > 0 && (seq = queue.aged.expire(now, retention)) != 0; --left) {
    if (queue.index.find(seq).absent()) continue;
    erase(queue, seq, effects.freed);
    effects.removes.push_back({queue.id, seq});
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

// --- deduplication ---

Fifo& Shard::fifo_of(Queue& queue) {
  if (!queue.fifo) queue.fifo = std::make_unique<Fifo>(deduplicated_);
  return *queue.fifo;
}

void Shard::arm_dedup(Queue& queue, Instant not_before) {
  if (queue.dedup_armed || !queue.fifo || queue.fifo->dedup.next_over() == never) return;
  queue.dedup_armed = true;
  timers_.arm(std::max(queue.fifo->dedup.next_over(), not_before), timer_dedup, raw(queue.id),
              ++queue.dedup_generation);
}

void Shard::expire_dedup(Queue& queue, Instant now) {
  if (!queue.fifo) return;  // purged
  const bool all = queue.fifo->dedup.forget_over(now, limits_.dedup_a_turn);
  arm_dedup(queue, now + (all ? dedup_pause : milliseconds(1)));
}

}  // namespace pawl

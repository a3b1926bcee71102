// SPDX-License-Identifier: Apache-2.0
#include "core/shard/retention.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/mutant.h"

namespace pawl {

AgedArrivals& Retention::aged_of(Queue& queue) {
  if (!queue.aged) queue.aged = std::make_unique<AgedArrivals>(state_.times_bytes.write());
  return *queue.aged;
}

void Retention::arm_retention(Queue& queue) {
  if (queue.config == nullptr || MUTANT(forget_retention)) return;
  const Duration retention = queue.config->retention();
  const Instant due = std::min(queue.times.next_expiry(retention),
                               queue.aged ? queue.aged->next_expiry(retention) : never);
  if (due == never || due == queue.retention_armed) return;
  arm_retention(queue, due);
}

void Retention::arm_retention(Queue& queue, Instant due) {
  if (queue.retention_armed != never) state_.timers.cancelled();
  CHECK(due != never, "queue {} expires never", raw(queue.id));
  queue.retention_armed = due;
  state_.timers.arm(due, timer_retention, raw(queue.id), ++queue.retention_generation);
}

void Retention::expire_retention(Queue& queue, Instant now, Effects& effects) {
  CHECK(queue.config != nullptr, "queue {} is not in the directory", raw(queue.id));
  const Duration retention = queue.config->retention();
  std::size_t left = state_.limits.retired_a_turn;
  for (; left > 0 && queue.aged; --left) {
    const Seq seq = queue.aged->expire(now, retention);
    if (seq == 0) break;
    if (queue.index.find(seq).absent()) continue;
    states_.erase(queue, seq, effects.freed);
    effects.deletes.push_back({queue.id, seq});
    state_.statistics.leave(queue, QueueCounter::expired);
  }
  queue.expired = std::max(queue.expired, queue.times.expire(now, retention));
  const std::uint64_t before = queue.index.size();
  Seq seq = queue.index.oldest();
  for (; left > 0 && seq != 0 && seq < queue.expired; --left) {
    states_.erase(queue, seq, effects.freed);
    seq = queue.index.first_from(seq + 1);
  }
  const bool more = seq != 0 && seq < queue.expired;
  const Seq below = more ? seq : queue.expired;
  queue.low = std::max(queue.low, below);
  if (const std::uint64_t gone = before - queue.index.size(); gone > 0) {
    state_.statistics.leave(queue, QueueCounter::expired, gone);
    // Recorded, so that a longer retention set later does not bring them back after a restart.
    effects.purges.push_back({.queue = queue.id, .below = below, .at = Instant{}});
  }
  if (!more && left > 0) return arm_retention(queue);
  arm_retention(queue, now + milliseconds(1));
}

}  // namespace pawl

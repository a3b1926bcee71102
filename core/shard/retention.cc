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

AgedArrivals& Retention::ttl_ends_of(Queue& queue) {
  if (!queue.ttl_ends) queue.ttl_ends = std::make_unique<AgedArrivals>(state_.times_bytes.write());
  return *queue.ttl_ends;
}

void Retention::arm_retention(Queue& queue) {
  if (queue.config == nullptr || MUTANT(forget_retention)) return;
  const Duration retention = queue.config->retention();
  const Instant due = std::min({queue.times.next_expiry(retention),
                                queue.aged ? queue.aged->next_expiry(retention) : never,
                                queue.ttl_ends ? queue.ttl_ends->next_expiry(Duration{0}) : never});
  if (due >= queue.retention_armed) return;
  arm_retention(queue, due);
}

void Retention::arm_retention(Queue& queue, Instant due) {
  if (queue.retention_armed != never) state_.timers.cancelled();
  CHECK(due != never, "queue {} expires never", raw(queue.id));
  queue.retention_armed = due;
  state_.timers.arm(due, timer_retention, raw(queue.id), ++queue.retention_generation);
}

// --- times to live ---

void Retention::ends_at(Queue& queue, Seq seq, Instant end) {
  CHECK(!queue.index.find(seq).absent() || queue.config == nullptr, "seq {} is gone", seq);
  if (MUTANT(forget_time_to_live)) return;
  ttl_ends_of(queue).add(end, seq, queue);
  arm_retention(queue);
}

void Retention::begin_life(Queue& queue, Slot& slot) {
  CHECK(slot.never_delivered(), "seq {} has been delivered", slot.seq);
  const Duration ahead = slot.life_ahead();
  slot.first_before = 0;
  ends_at(queue, slot.seq, slot.deadline + ahead);
}

// --- ages that count from the delivery time ---

void Retention::aged_apart(Queue& queue, const Slot& slot, Slot::State before, Slot::State after) {
  using State = Slot::State;
  CHECK(slot.aged_apart && slot.never_delivered(), "seq {} has been delivered", slot.seq);
  if (after == State::visible) {
    aged_of(queue).add(slot.deadline, slot.seq, queue);
    arm_retention(queue);
  } else if (before == State::visible && after == State::delayed && queue.aged) {
    queue.aged->remove({slot.deadline.ms, slot.seq});
  }
}

void Retention::add_missing(Queue& queue) {
  if (!queue.keeps_apart) return;
  Ages received;
  queue.index.for_each([&](Seq seq, IndexEntry indexed) {
    if (!indexed.is_slot()) return;
    const Slot& slot = state_.slots[indexed.slot()];
    CHECK(slot.seq == seq, "seq {} is in the slot of seq {}", seq, slot.seq);
    if (slot.aged_apart && !slot.never_delivered())
      received.emplace_back(seq, slot.receive_count > 0 ? slot.first_received() : slot.deadline);
  });
  add_unless_known(queue, received);
}

void Retention::add_unless_known(Queue& queue, const Ages& ages) {
  if (ages.empty()) return;
  const std::vector<Seq> known = queue.aged ? queue.aged->numbers() : std::vector<Seq>();
  for (const auto& [seq, at] : ages) {
    if (!std::ranges::binary_search(known, seq)) aged_of(queue).add(at, seq, queue);
  }
}

}  // namespace pawl

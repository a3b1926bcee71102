// SPDX-License-Identifier: Apache-2.0
#include "core/shard/send_history.h"

#include <algorithm>
#include <memory>

#include "core/base/check.h"

namespace pawl {
namespace {

constexpr Duration forget_pause = seconds(1);  // of a busy FIFO queue, which forgets most itself

Instant next_over(const Queue& queue) {
  return std::min(queue.fifo ? queue.fifo->next_over() : never,
                  queue.producers ? queue.producers->next_over() : never);
}

}  // namespace

Fifo& SendHistory::fifo_of(Queue& queue) {
  if (!queue.fifo)
    queue.fifo = std::make_unique<Fifo>(state_.deduplicated.write(), state_.attempts_bytes.write(),
                                        state_.fifo_bytes.write());
  return *queue.fifo;
}

Producers& SendHistory::producers_of(Queue& queue) {
  if (!queue.producers)
    queue.producers = std::make_unique<Producers>(state_.producers_bytes.write());
  return *queue.producers;
}

void SendHistory::arm(Queue& queue, Instant not_before) {
  if (queue.forget_armed) return;
  const Instant due = next_over(queue);
  if (due == never) return;
  queue.forget_armed = true;
  state_.timers.arm(std::max(due, not_before), timer_forget, raw(queue.id),
                    ++queue.forget_generation);
}

void SendHistory::forget_expired(Queue& queue, Instant now) {
  CHECK(!queue.forget_armed, "the timer of queue {} is armed", raw(queue.id));
  const std::size_t most = state_.limits.forgotten_a_turn;
  bool all = !queue.fifo || queue.fifo->forget_over(now, most);
  if (queue.producers && !queue.producers->forget_over(now, most)) all = false;
  CHECK(!all || next_over(queue) > now, "an entry of queue {} is expired still", raw(queue.id));
  if (queue.producers && queue.producers->size() == 0) queue.producers.reset();
  arm(queue, now + (all ? forget_pause : milliseconds(1)));
  CHECK(queue.forget_armed == (next_over(queue) != never), "the timer of queue {} is not armed",
        raw(queue.id));
}

}  // namespace pawl

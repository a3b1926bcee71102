// SPDX-License-Identifier: Apache-2.0
#include "core/shard/statistics.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/mutant.h"

namespace pawl {

void Statistics::label(const Directory& directory) {
  labelled_.clear();
  for (const ConfigPtr* row = directory.first_from(QueueId::none); row != nullptr;
       row = directory.first_from(QueueId{raw((*row)->id) + 1}))
    created(**row);
}

void Statistics::created(const QueueConfig& config) {
  CHECK(config.id != QueueId::none, "a queue without an id");
  if (config.is_queue()) labelled_.add(config.id);
}

void Statistics::begin(Queue& queue) {
  CHECK(queue.stats == nullptr, "queue {} is counted twice", raw(queue.id));
  if (labelled_.has(queue.id)) {
    queue.stats = std::make_unique<QueueStats>(now);
    queue.times.keep_marks();
    ++stats_;
  }
  sums_of(queue).begin(queue.index.size(), now);
  all.begin(queue.index.size(), now);
}

void Statistics::count_deletes(Queue& queue) {
  if (deletes_.messages == 0) return;
  if (!MUTANT(forget_to_count_delete)) leave(queue, QueueCounter::deleted, deletes_.messages);
  count(queue, QueueCounter::done_receives, deletes_.messages + deletes_.repeated);
  count(queue, QueueCounter::late_deletes, deletes_.late);
  count_held(queue);
  count_done();
  deletes_ = {};
}

void Statistics::count_held(Queue& queue) {
  if (queue.stats != nullptr && deletes_.held_as_long > 0)
    queue.stats->leases.note(now - deletes_.received, deletes_.held_as_long);
  deletes_.held_as_long = 0;
}

void Statistics::count_done() {
  if (deletes_.of_sends > 0 && deletes_.sends.at != never)
    done_times.note(now - deletes_.sends.at, deletes_.of_sends);
  deletes_.of_sends = 0;
}

void Statistics::next_sends(const Queue& queue, Seq seq) {
  count_done();
  deletes_.sends = queue.times.around(seq);
}

void Statistics::delivered(Queue& queue, std::span<const Delivery> deliveries) {
  CHECK(queue.config != nullptr, "a delivery of queue {} without a config", raw(queue.id));
  count(queue, QueueCounter::received, deliveries.size());
  const Duration target = queue.config->lag_target();
  std::uint64_t first = 0, late = 0;
  for (auto at = deliveries.begin(); at != deliveries.end();) {
    // Messages that were sent together have waited as long: they are counted in one step.
    const auto end = std::find_if(at, deliveries.end(), [&](const Delivery& other) {
      return other.deliver_at != at->deliver_at || other.receive_count != at->receive_count;
    });
    const auto together = static_cast<std::uint64_t>(end - at);
    if (at->receive_count == 1) {
      const Duration waited = now - at->deliver_at;
      delivery_times.note(waited, together);
      first += together;
      if (target.ms > 0 && waited > target) late += together;
    }
    at = end;
  }
  count(queue, QueueCounter::first_received, first);
  count(queue, QueueCounter::late, late);
}

void Statistics::check(const Queues& queues) const {
  CHECK(deletes_.messages == 0, "{} deletes are not counted", deletes_.messages);
  std::uint64_t without_label = 0, in_all = 0;
  for (const auto& [id, queue] : queues) {
    const std::uint64_t messages = queue->index.size();
    in_all += messages;
    if (queue->stats == nullptr) {
      without_label += messages;
    } else {
      CHECK(queue->stats->sums.messages == messages, "{} messages of queue {} are counted as {}",
            messages, id, queue->stats->sums.messages);
    }
  }
  CHECK(all.messages == in_all, "{} messages are counted as {}", in_all, all.messages);
  CHECK(others.messages == without_label, "{} messages without a label are counted as {}",
        without_label, others.messages);
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "core/shard/statistics.h"

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
  if (!config.is_topic()) labelled_.add(config.id);
}

void Statistics::begin(Queue& queue) {
  CHECK(queue.stats == nullptr, "queue {} is counted twice", raw(queue.id));
  if (labelled_.has(queue.id)) {
    queue.stats = std::make_unique<QueueStats>(now);
    ++stats_;
  }
  sums_of(queue).begin(queue.index.size(), now);
  all.begin(queue.index.size(), now);
}

void Statistics::done(Queue& queue, Instant received, std::uint32_t receives, bool in_time) {
  if (!MUTANT(forget_to_count_delete)) leave(queue, QueueCounter::deleted);
  count(queue, QueueCounter::done_receives, receives);
  if (!in_time) return count(queue, QueueCounter::late_deletes);
  if (queue.stats != nullptr) queue.stats->leases.note(now - received);
}

void Statistics::delivered(Queue& queue, std::span<const Delivery> deliveries) {
  CHECK(queue.config != nullptr, "a delivery of queue {} without a config", raw(queue.id));
  count(queue, QueueCounter::received, deliveries.size());
  const Duration target = queue.config->lag_target();
  for (const Delivery& delivery : deliveries) {
    if (delivery.receive_count != 1) continue;
    const Duration waited = now - delivery.deliver_at;
    delivery_times.note(waited);
    count(queue, QueueCounter::first_received);
    if (target.ms > 0 && waited > target) count(queue, QueueCounter::late);
  }
}

void Statistics::check(const Queues& queues) const {
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

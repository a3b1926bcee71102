// SPDX-License-Identifier: Apache-2.0
#include "core/shard/shard_state.h"

#include <algorithm>

#include "core/base/check.h"

namespace pawl {

ShardLimits ShardLimits::for_memory(std::uint64_t bytes) {
  ShardLimits limits;
  limits.slots_max = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(limits.slots_max, bytes / 2 / sizeof(Slot)));
  limits.dedup_max = std::min(limits.dedup_max, bytes / 4 / Dedup::entry_bytes);
  limits.attempts_bytes_max = std::min(limits.attempts_bytes_max, bytes / 16);
  limits.producers_bytes_max = std::min(limits.producers_bytes_max, bytes / 16);
  limits.spare_bytes = std::min<std::uint64_t>(limits.spare_bytes, bytes / 64);
  limits.transfer_bytes_max = std::min(limits.transfer_bytes_max, bytes / 16);
  limits.transfer_bytes_unread =
      std::min(limits.transfer_bytes_unread, limits.transfer_bytes_max / 8);
  return limits;
}

ShardState::ShardState(const ShardIdentity& own, const ShardLimits& limits_given, Instant start)
    : identity(own),
      limits(limits_given),
      upgraded(own.upgraded),
      deleted_names(limits.deleted_name_wait),
      pages(std::min(PagePool::spares_max, limits.spare_bytes / sizeof(PagePool::Page))),
      slots(limits.slots_max,
            std::max<std::size_t>(1, limits.spare_bytes / Slab<Slot>::block_bytes())),
      // Timers that are due at `start` have not fired yet.
      timers(Instant{std::max<std::int64_t>(1, start.ms) - 1},
             std::min(TimerWheel::sweep_slack, limits.spare_bytes / sizeof(TimerEntry)),
             std::min(TimerWheel::spares_max, limits.spare_bytes / TimerWheel::chunk_bytes)),
      leases(slots.write(), timers, timer_lease, limits.spare_bytes),
      statistics(limits.labelled_queues_max, start) {
  CHECK(own.shards >= 1 && own.shards <= shards_max, "{} shards", own.shards);
  CHECK(limits.first_number >= 1 && limits.first_number <= seq_max, "{}", limits.first_number);
  CHECK(raw(own.id) < own.shards, "shard {} of {}", raw(own.id), own.shards);
}

Queue* ShardState::find_queue(QueueId id) {
  if (latest_ != nullptr && latest_->id == id) return latest_;
  if (Queue* const queue = existing_queue(raw(id)); queue != nullptr) return latest_ = queue;
  const ConfigPtr* const config = directory->find(id);
  if (config == nullptr || (*config)->owner != identity.id) return nullptr;
  Queue& queue = make_queue(id);  // the first message of a queue
  queue.config = *config;
  statistics.begin(queue);
  return latest_ = &queue;
}

Queue* ShardState::existing_queue(std::uint32_t id) const {
  const auto it = queues->find(id);
  return it == queues->end() ? nullptr : it->second.get();
}

Queue& ShardState::make_queue(QueueId id) {
  CHECK(id != QueueId::none, "a queue without an id");
  std::unique_ptr<Queue>& queue = queues.write()[raw(id)];
  if (queue == nullptr) {
    queue = std::make_unique<Queue>(id, pages, times_bytes.write(), kept_bytes.write());
    queue->next_seq = limits.first_number;
  }
  return *queue;
}

void ShardState::drop_queue(QueueId id) {
  const Queue* const queue = existing_queue(raw(id));
  CHECK(queue != nullptr, "queue {} is not there", raw(id));
  CHECK(queue->index.size() == 0, "{} messages of queue {}", queue->index.size(), raw(id));
  CHECK(queue->waiters.empty(), "a receive waits for queue {}", raw(id));
  if (latest_ == queue) latest_ = nullptr;
  statistics.end(*queue);
  queues.write().erase(raw(id));
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Statistics of a shard's queues: each labelled queue's own, the sum of the others, and the sum of
// all, which outlives the queues.
//
// Counting begins when recovery has ended; what the log repeats is not counted again.
//
// Units:  ms.
// Limits: ShardLimits::labelled_queues_max queues of the server, 336 bytes each.
// Owner:  core/shard/shard_state.h; every part counts what it does.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>

#include "core/base/check.h"
#include "core/base/time.h"
#include "core/queue/directory.h"
#include "core/queue/labelled_queues.h"
#include "core/queue/queue.h"
#include "core/queue/queue_config.h"
#include "core/queue/queue_stats.h"
#include "core/queue/request.h"

namespace pawl {

class Statistics {
 public:
  Statistics(std::size_t labelled_max, Instant start) : now(start), labelled_(labelled_max) {}

  Instant now;            // of what is counted next; the shard sets it
  QueueSums all, others;  // of all queues; of those without a label
  DeliveryTimes delivery_times;

  // --- labels ---
  // At the end of recovery, in place of those known before: the oldest queues of the directory.
  void label(const Directory& directory);
  void created(const QueueConfig& config);
  void deleted(QueueId id) { labelled_.drop(id); }
  bool labelled(QueueId id) const { return labelled_.has(id); }
  // A queue from the log, with the messages that it has, or one without messages.
  void begin(Queue& queue);
  // The queue goes; its messages have been counted as purged.
  void end(const Queue& queue) {
    const std::size_t own = queue.stats == nullptr ? 0 : 1;
    CHECK(stats_ >= own, "queue {} was not counted", raw(queue.id));
    stats_ -= own;
  }

  // --- counts ---
  void count(Queue& queue, QueueCounter counter, std::uint64_t n = 1) {
    if (n == 0) return;
    sums_of(queue).count(counter, n);
    all.count(counter, n);
  }
  void leave(Queue& queue, QueueCounter counter, std::uint64_t n = 1) {
    sums_of(queue).leave(counter, n, now);
    all.leave(counter, n, now);
  }
  // A consumer deletes a message, which it received last at `received` and which needed so many
  // deliveries. `in_time`: its visibility timeout had not ended.
  void done(Queue& queue, Instant received, std::uint32_t receives, bool in_time);
  // Deliveries that leave for a consumer with their bodies.
  void delivered(Queue& queue, std::span<const Delivery> deliveries);

  // They have the messages that the queues have, at the end of a turn. The simulator's build looks.
  using Queues = std::unordered_map<std::uint32_t, std::unique_ptr<Queue>>;
  void check(const Queues& queues) const;

  std::size_t memory() const { return stats_ * sizeof(QueueStats); }

 private:
  QueueSums& sums_of(Queue& queue) { return queue.stats == nullptr ? others : queue.stats->sums; }

  LabelledQueues labelled_;
  std::size_t stats_ = 0;
};

}  // namespace pawl

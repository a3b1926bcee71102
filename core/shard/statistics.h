// SPDX-License-Identifier: Apache-2.0
// Statistics of a shard's queues: each labelled queue's own, the sum of the others, and the sum of
// all, which outlives the queues.
//
// Counting begins when recovery has ended; what the log repeats is not counted again.
//
// Units:  ms.
// Limits: ShardLimits::labelled_queues_max queues of the server, 336 bytes each; SendTimes has the
//         marks of their sends.
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
  DeliveryTimes done_times;  // from send to delete, of queues with a label

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
  // A consumer deletes message `seq`, which it received last at `received` and which needed so many
  // deliveries. `in_time`: its visibility timeout had not ended. count_deletes() counts those of a
  // request together.
  void done(Queue& queue, Seq seq, Instant received, std::uint32_t receives, bool in_time) {
    count_sent(queue, seq);
    deletes_.repeated += receives - 1;
    if (!in_time) {
      ++deletes_.late;
      return;
    }
    if (received != deletes_.received) count_held(queue);
    deletes_.received = received;
    ++deletes_.held_as_long;
  }
  // The same for a message that was received once, in time, and with the message before it.
  void done_alike(Queue& queue, Seq seq) {
    count_sent(queue, seq);
    ++deletes_.held_as_long;
  }
  void count_deletes(Queue& queue);
  // Deliveries that leave for a consumer with their bodies.
  void delivered(Queue& queue, std::span<const Delivery> deliveries);

  // They have the messages that the queues have, at the end of a turn. The simulator's build looks.
  using Queues = std::unordered_map<std::uint32_t, std::unique_ptr<Queue>>;
  void check(const Queues& queues) const;

  std::size_t memory() const { return stats_ * sizeof(QueueStats); }

 private:
  // Deletes of the present request; the latest `held_as_long` of them were received at `received`.
  struct Deletes {
    std::uint64_t messages = 0, repeated = 0, late = 0;  // `repeated`: receives but the first ones
    Instant received;
    std::uint64_t held_as_long = 0;
    SendTimes::Sends sends;  // the latest `of_sends` of them came with these
    std::uint64_t of_sends = 0;
  };

  void count_sent(Queue& queue, Seq seq) {
    ++deletes_.messages;
    if (queue.stats == nullptr) return;
    if (seq < deletes_.sends.first || seq >= deletes_.sends.end) next_sends(queue, seq);
    ++deletes_.of_sends;
  }
  void count_held(Queue& queue);
  void count_done();
  void next_sends(const Queue& queue, Seq seq);
  QueueSums& sums_of(Queue& queue) { return queue.stats == nullptr ? others : queue.stats->sums; }

  LabelledQueues labelled_;
  Deletes deletes_;
  std::size_t stats_ = 0;
};

}  // namespace pawl

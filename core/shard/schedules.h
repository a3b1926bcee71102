// SPDX-License-Identifier: Apache-2.0
// Schedules: the memory of the fires that sent messages to the queues of this shard, and the
// schedules that were created, changed or deleted, for net/engine/scheduler.h.
//
// Units:  Instant ms of the wall clock.
// Owner:  core/shard/shard.h.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/queue/request.h"
#include "core/shard/shard_state.h"

namespace pawl {

class Schedules {
 public:
  explicit Schedules(ShardState& state) : state_(state) {}

  // After recovery, when the directory is complete: all schedules have changed.
  void recovered();
  // The row of a schedule was put into the directory, or is gone.
  void changed(QueueId schedule);
  // Schedules changed since the last call; after recovery all.
  std::vector<QueueId> take_changed() { return std::exchange(changed_, {}); }
  bool any_changed() const { return !changed_.empty(); }
  // The caller has no work left until a schedule changes.
  void rest() {
    if (changed_.empty()) state_.armed.take(ShardPart::schedules);
  }

  static bool has(const Queue& queue, const Fire& fire) {
    return queue.fires && queue.fires->has(fire);
  }
  void note(Queue& queue, const Fire& fire, Seq seq);
  // The newest fire of the schedule that sent a message to a queue of this shard; 0: none.
  Instant newest(QueueId schedule) const;
  // The message of that fire is still in the queue, in whatever state.
  bool is_there(QueueId schedule, QueueId queue) const;

  // The caller follows the schedules in so much memory.
  void followed_in(std::uint64_t bytes) { follower_bytes_ = bytes; }
  std::uint64_t memory() const;

 private:
  ShardState& state_;
  std::vector<QueueId> changed_;
  std::unordered_map<QueueId, Instant> newest_;  // of each schedule, to any queue
  std::uint64_t follower_bytes_ = 0;
  bool recovered_ = false;
};

}  // namespace pawl

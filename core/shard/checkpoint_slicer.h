// SPDX-License-Identifier: Apache-2.0
// The state of a shard as the slices of a checkpoint (core/queue/checkpoint.h).
//
//   begin --> slice, slice, ... --> the last slice
//
// Limits: about ShardLimits::slice_entries entries a slice.
// Owner:  core/shard/shard.h.
#pragma once

#include <cstddef>
#include <vector>

#include "core/queue/checkpoint.h"
#include "core/shard/message_states.h"
#include "core/shard/shard_state.h"
#include "core/shard/transfers.h"

namespace pawl {

class CheckpointSlicer {
 public:
  CheckpointSlicer(ShardState& state, const MessageStates& states, const Transfers& transfers)
      : state_(state), states_(states), transfers_(transfers) {}

  // Abandons a checkpoint under way.
  void begin() { walk_ = {}; }
  // Adds the next slice; false: that was the last.
  bool slice(CheckpointSlice& out);

 private:
  void slice_deleted_names(CheckpointSlice& out, std::size_t& left);
  bool slice_queue(const ConfigPtr& config, CheckpointSlice& out, std::size_t& left);
  void slice_settings(const Queue& queue, CheckpointSlice& out) const;
  static void forget_set_aside(Queue& queue, std::vector<LogPos>& freed);
  // `ends`: the ends of times to live instead of `aged`.
  bool slice_aged(const Queue& queue, bool ends, CheckpointSlice& out, std::size_t& left);
  bool slice_dedup(const Queue& queue, CheckpointSlice& out, std::size_t& left);
  bool slice_producers(const Queue& queue, CheckpointSlice& out, std::size_t& left);
  bool slice_fires(Queue& queue, CheckpointSlice& out, std::size_t& left);
  bool slice_pending(const Queue& queue, CheckpointSlice& out, std::size_t& left);
  bool slice_messages(const Queue& queue, CheckpointSlice& out, std::size_t& left);

  ShardState& state_;
  const MessageStates& states_;
  const Transfers& transfers_;
  CheckpointWalk walk_;
};

}  // namespace pawl

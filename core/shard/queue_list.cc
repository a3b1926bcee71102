// SPDX-License-Identifier: Apache-2.0
#include "core/shard/queue_list.h"

#include "core/base/check.h"
#include "core/base/mutant.h"

namespace pawl {

QueueCounts counts_of(const Queue& queue) {
  return {.visible = queue.visible(),
          .in_flight = queue.in_flight,
          .delayed = queue.delayed,
          .state_bytes = queue.index.memory() + queue.slots * ShardState::slot_bytes +
                         queue.leases * Leases::lease_bytes};
}

void list_queues(const ShardState& state, Request& request, Effects& effects) {
  CHECK(request.slice != nullptr, "a list without a slice");
  QueueSlice& slice = *request.slice;
  CHECK(slice.rows > 0 && slice.rows <= QueueSlice::rows_max, "a slice of {} rows", slice.rows);
  slice.queues.clear();
  const ConfigPtr* row = state.directory->first_from(request.queue);
  for (std::uint32_t left = slice.rows; row != nullptr && left > 0; --left) {
    const QueueConfig& config = **row;
    if (config.owner == state.identity.id && !config.is_topic()) {
      const Queue* const queue = state.existing_queue(raw(config.id));
      slice.queues.push_back({*row, queue == nullptr ? QueueCounts{} : counts_of(*queue)});
    }
    row = state.directory->first_from(QueueId{raw(config.id) + 1});
  }
  slice.next = row == nullptr ? QueueId::none : (*row)->id;
  CHECK(row == nullptr || raw(slice.next) > raw(request.queue), "the list goes back to {}",
        raw(slice.next));
  if (row != nullptr && MUTANT(skip_listed_queue)) slice.next = QueueId{raw(slice.next) + 1};
  effects.replies.push_back({&request, false});
}

}  // namespace pawl

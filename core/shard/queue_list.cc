// SPDX-License-Identifier: Apache-2.0
#include "core/shard/queue_list.h"

#include <algorithm>
#include <utility>

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

namespace {

QueueFigures figures_of(const QueueSums& sums, Instant now) {
  return {.sums = sums, .message_ms = sums.message_ms(now)};
}

QueueFigures figures_of(QueueStats& stats, Instant now) {
  stats.send_rate.read(stats.sums[QueueCounter::sent], now);
  stats.delete_rate.read(stats.sums[QueueCounter::deleted], now);
  QueueFigures figures = figures_of(stats.sums, now);
  figures.leases = stats.leases;
  figures.sent_per_second = stats.send_rate.per_second();
  figures.deleted_per_second = stats.delete_rate.per_second();
  return figures;
}

void add(const ShardState& state, const ConfigPtr& config, Queue* queue, QueueSlice& slice) {
  ListedQueue listed{.config = config};
  if (queue != nullptr) listed.counts = counts_of(*queue);
  if (!slice.wants_figures) return slice.queues.push_back(std::move(listed));
  const Instant begin = queue == nullptr ? never : queue->times.begin();
  if (!state.statistics.labelled(config->id)) {
    slice.others.visible += listed.counts.visible;
    slice.others.in_flight += listed.counts.in_flight;
    slice.others.delayed += listed.counts.delayed;
    if (queue != nullptr && queue->index.size() > 0)
      slice.others_oldest = std::min(slice.others_oldest, begin);
    return;
  }
  slice.figures.emplace_back();
  if (queue != nullptr) {
    if (queue->stats != nullptr)
      slice.figures.back() = figures_of(*queue->stats, state.statistics.now);
    if (queue->index.size() > 0) {
      listed.oldest = queue->index.oldest();
      listed.position = state.position_of(queue->index.find(listed.oldest));
      listed.oldest_sent = begin;
    }
  }
  slice.queues.push_back(std::move(listed));
}

void add_shard(const ShardState& state, QueueSlice& slice) {
  const Statistics& statistics = state.statistics;
  slice.shard.all = figures_of(statistics.all, statistics.now);
  slice.shard.others = figures_of(statistics.others, statistics.now);
  slice.shard.delivery_times = statistics.delivery_times;
  slice.shard.done_times = statistics.done_times;
}

}  // namespace

void list_queues(const ShardState& state, Request& request, Effects& effects) {
  CHECK(request.slice != nullptr, "a list without a slice");
  QueueSlice& slice = *request.slice;
  CHECK(slice.rows > 0 && slice.rows <= QueueSlice::rows_max, "a slice of {} rows", slice.rows);
  slice.queues.clear();
  slice.figures.clear();
  slice.now = state.statistics.now;
  const ConfigPtr* row = state.directory->first_from(request.queue);
  for (std::uint32_t left = slice.rows; row != nullptr && left > 0; --left) {
    const QueueConfig& config = **row;
    if (config.owner == state.identity.id && config.is_queue())
      add(state, *row, state.existing_queue(raw(config.id)), slice);
    row = state.directory->first_from(QueueId{raw(config.id) + 1});
  }
  slice.next = row == nullptr ? QueueId::none : (*row)->id;
  if (row == nullptr && slice.wants_figures) add_shard(state, slice);
  CHECK(!slice.wants_figures || slice.figures.size() == slice.queues.size(), "{} of {} figures",
        slice.figures.size(), slice.queues.size());
  CHECK(row == nullptr || raw(slice.next) > raw(request.queue), "the list goes back to {}",
        raw(slice.next));
  if (row != nullptr && MUTANT(skip_listed_queue)) slice.next = QueueId{raw(slice.next) + 1};
  effects.replies.push_back({&request, false});
}

}  // namespace pawl

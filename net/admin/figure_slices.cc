// SPDX-License-Identifier: Apache-2.0
#include "net/admin/figure_slices.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/check.h"

namespace pawl {

FigureSlices::FigureSlices(std::uint32_t shards, const MetricsQuery& query)
    : shards_(shards), query_(&query) {
  CHECK(shards > 0 && shards <= shards_max, "{} shards", shards);
  slice_.wants_figures = true;
  request_.op = Op::list_queues;
  request_.slice = &slice_;
}

ShardSlices::Next FigureSlices::next() {
  if (!complete()) return {&request_, ShardId{static_cast<std::uint8_t>(shard_)}};
  request_.op = Op::none;
  return {&request_, control_shard};
}

void FigureSlices::take() {
  CHECK(!complete(), "a slice behind the last shard");
  metrics_.take(slice_, *query_);
  request_.queue = slice_.next;
  if (slice_.next != QueueId::none) return;
  ++shard_;
  slice_.others = {};
  slice_.others_oldest = never;
  if (complete()) metrics_.end(*query_);
}

std::size_t FigureSlices::memory() const {
  return metrics_.memory() + slice_.queues.capacity() * sizeof(ListedQueue) +
         slice_.figures.capacity() * sizeof(QueueFigures);
}

std::optional<AdminAnswer> FigureSlices::missing_queue() const {
  CHECK(complete(), "the figures of shard {} are missing", shard_);
  for (const std::string& name : query_->queues) {
    if (std::ranges::find(metrics_.queues, name, &QueueMetrics::label) != metrics_.queues.end())
      continue;
    return AdminAnswer{
        .status = 404,
        .body = fmt::format("no queue `{}` has metrics of its own; /queues lists the queues, and "
                            "those beyond --metrics-queues are together in the queue `{}`\n",
                            shown_name(name), QueueMetrics::other_name)};
  }
  return std::nullopt;
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Asks the shards for the figures of their queues, a slice at a time, for a page that writes them.
//
//   next() --list_queues--> take() ... complete --none, a pause--> the page writes a piece ...
//
// Limits: the labelled queues of LabelledQueues, about 0.5 KB each.
// Owner:  a page, which owns the query too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "net/admin/admin_page.h"
#include "net/admin/queue_metrics.h"

namespace pawl {

class FigureSlices {
 public:
  FigureSlices(std::uint32_t shards, const MetricsQuery& query);  // which outlives it
  FigureSlices(const FigureSlices&) = delete;
  FigureSlices& operator=(const FigureSlices&) = delete;

  bool complete() const { return shard_ == shards_; }
  void leave_out() { shard_ = shards_; }  // no figures are wanted

  // The request for the next slice; if all are taken, one for nothing, so that a shard serves
  // others between two pieces of the page.
  ShardSlices::Next next();
  void take();  // the answer of the request for a slice
  const CollectedMetrics& metrics() const { return metrics_; }
  std::size_t memory() const;  // bytes besides this object

  // After the last slice: 404 if the query names a queue that no shard has shown.
  std::optional<AdminAnswer> missing_queue() const;

 private:
  const std::uint32_t shards_;
  const MetricsQuery* query_;
  std::uint32_t shard_ = 0;  // of the next slice
  Request request_;
  QueueSlice slice_;
  CollectedMetrics metrics_;
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// GET /metrics: the server's metrics, and those of its queues, as a text for Prometheus.
//
//   figures of each shard, a slice at a time --> the text, a piece at a time
//
// Between two pieces of the text a shard is asked for nothing (Op::none), so that it serves others
// in between.
//
// Limits: the labelled queues of LabelledQueues, about 0.5 KB each until the page is written.
// Owner:  see admin_page.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "net/admin/admin_page.h"
#include "net/admin/queue_metrics.h"

namespace pawl {

class MetricsPage final : public ShardSlices {
 public:
  explicit MetricsPage(const AdminFacts& facts);  // which outlive it
  MetricsPage(const MetricsPage&) = delete;
  MetricsPage& operator=(const MetricsPage&) = delete;

  std::string_view content_type() const override {
    return "text/plain; version=0.0.4; charset=utf-8";
  }
  Next next() override;
  void append(std::string& body) override;
  std::size_t memory() const override;

 private:
  void collect();

  const AdminFacts* facts_;
  std::uint32_t shard_ = 0;  // of the next slice
  Request request_;
  QueueSlice slice_;
  CollectedMetrics metrics_;
  QueueMetricsText text_{metrics_};
  bool begun_ = false, complete_ = false;
};

std::unique_ptr<ShardSlices> metrics_page(const AdminRequest& request, const AdminFacts& facts);

}  // namespace pawl

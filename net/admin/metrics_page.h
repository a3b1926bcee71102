// SPDX-License-Identifier: Apache-2.0
// GET /metrics: the server's metrics, and those of its queues, as a text for Prometheus.
//
//   figures of each shard, a slice at a time --> the text, a piece at a time
//
// A query chooses queues and families (metrics_query.h). With queues, the families that have no
// label `queue` are left out.
//
// Limits: see figure_slices.h.
// Errors: 400: a wrong query, or a queue and a family without that label; 404: an unknown family or
//         queue.
// Owner:  see admin_page.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/admin/admin_page.h"
#include "net/admin/figure_slices.h"
#include "net/admin/metrics_query.h"
#include "net/admin/queue_metrics.h"

namespace pawl {

class MetricsPage final : public ShardSlices {
 public:
  MetricsPage(const AdminRequest& request, const AdminFacts& facts);  // the facts outlive it
  MetricsPage(const MetricsPage&) = delete;
  MetricsPage& operator=(const MetricsPage&) = delete;

  std::string_view content_type() const override {
    return query_.format == MetricsFormat::open_metrics
               ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
               : "text/plain; version=0.0.4; charset=utf-8";
  }
  const AdminAnswer* refusal() const override { return refusal_ ? &*refusal_ : nullptr; }
  Next next() override;
  void append(std::string& body) override;
  std::size_t memory() const override { return sizeof *this + figures_.memory(); }

 private:
  void look_at_families();
  std::string server_text() const;

  const AdminFacts* facts_;
  MetricsQuery query_;
  std::optional<AdminAnswer> refusal_;
  FigureSlices figures_;
  QueueMetricsText text_{figures_.metrics(), query_};
  bool wants_figures_ = true, begun_ = false, complete_ = false;
};

std::unique_ptr<ShardSlices> metrics_page(const AdminRequest& request, const AdminFacts& facts);

}  // namespace pawl

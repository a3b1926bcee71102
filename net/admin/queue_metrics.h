// SPDX-License-Identifier: Apache-2.0
// The metrics of queues as a text for Prometheus: one family after the other, each with a line or
// more a labelled queue, and the sums of all queues.
//
// A text has the families and the format of a query; the figures are those of its queues. It is
// written a piece at a time, so that a shard with 1,000 queues serves others in between.
//
// Units:  in the names: seconds.
// Limits: series_max series a queue; QueueSlice::rows_max queues a piece.
// Owner:  a connection's page. Plain data and text.
// Source: Prometheus, "Text-based format", "Metric and label naming".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "core/queue/queue_stats.h"
#include "core/queue/request.h"
#include "net/admin/metrics_query.h"

namespace pawl {

// A queue with a label, or all others together.
struct QueueMetrics {
  static constexpr std::string_view other_name = "__other__";

  std::string account, name;  // no account: all others together
  QueueCounts counts;
  QueueFigures figures;
  Instant oldest_sent = never;
  Instant now;
  Duration lag_target{0};

  bool is_other() const { return account.empty(); }
  std::string_view label() const { return is_other() ? other_name : std::string_view(name); }
  double oldest_age_seconds() const;
  // Seconds until the queue is empty at the rate of its deletes; infinite at rate 0.
  double drain_seconds() const;
  // Consumers that keep up with the sends, and bring the visible messages to x-lag-target.
  double workers_wanted() const;
};

// The figures that the slices of all shards have told.
struct CollectedMetrics {
  std::vector<QueueMetrics> queues;  // those that are wanted; `__other__` is the last
  QueueFigures all;
  DeliveryTimes delivery_times, done_times;

  // A slice, the last of its shard or not. `others_*` of the slice count from its shard's first.
  void take(const QueueSlice& slice, const MetricsQuery& query = MetricsQuery::everything());
  // All shards have told: adds `__other__`, if it is wanted.
  void end(const MetricsQuery& query = MetricsQuery::everything());
  std::size_t memory() const { return queues.capacity() * (sizeof(QueueMetrics) + 64); }

 private:
  QueueMetrics other_;
};

class QueueMetricsText {
 public:
  static constexpr std::size_t series_max = 25;

  // Both outlive it.
  explicit QueueMetricsText(const CollectedMetrics& metrics,
                            const MetricsQuery& query = MetricsQuery::everything())
      : metrics_(&metrics), query_(&query) {}

  // Appends the next piece; false: that was the last.
  bool write(std::string& text);

  struct Family {  // a row of `pawl metrics ls`
    std::string_view name, type, help;
    std::string_view labels;
    std::size_t series = 1;  // a queue
  };
  static std::vector<Family> families();

 private:
  void write_family(std::string& text);
  void write_globals(std::string& out) const;

  const CollectedMetrics* metrics_;
  const MetricsQuery* query_;
  std::size_t family_ = 0, queue_ = 0;
};

}  // namespace pawl

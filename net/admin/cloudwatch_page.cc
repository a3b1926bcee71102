// SPDX-License-Identifier: Apache-2.0
#include "net/admin/cloudwatch_page.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "proto/text/json.h"

namespace pawl {
namespace {

template <QueueCounter counter>
std::uint64_t total(const QueueMetrics& queue) {
  return queue.figures.sums[counter];
}

struct CloudwatchMetric {
  std::string_view name, unit;
  std::uint64_t (*value)(const QueueMetrics&);
  bool fifo_only = false;
};

constexpr CloudwatchMetric cloudwatch_metrics[] = {
    {"ApproximateNumberOfMessagesVisible", "Count",
     [](const QueueMetrics& queue) { return queue.counts.visible; }},
    {"ApproximateNumberOfMessagesNotVisible", "Count",
     [](const QueueMetrics& queue) { return queue.counts.in_flight; }},
    {"ApproximateNumberOfMessagesDelayed", "Count",
     [](const QueueMetrics& queue) { return queue.counts.delayed; }},
    {"ApproximateAgeOfOldestMessage", "Seconds",
     [](const QueueMetrics& queue) {
       return static_cast<std::uint64_t>(queue.oldest_age_seconds());
     }},
    {"NumberOfMessagesSent", "Count", total<QueueCounter::sent>},
    {"NumberOfMessagesReceived", "Count", total<QueueCounter::received>},
    {"NumberOfMessagesDeleted", "Count", total<QueueCounter::deleted>},
    {"NumberOfDeduplicatedSentMessages", "Count", total<QueueCounter::deduplicated>, true},
};

void append_datum(std::string& body, const QueueMetrics& queue, const CloudwatchMetric& metric) {
  JsonWriter json(body);
  json.begin_object();
  json.member("MetricName", metric.name);
  json.key("Dimensions");
  json.begin_array();
  json.begin_object();
  json.member("Name", "QueueName");
  json.member("Value", std::string_view(queue.name));
  json.end_object();
  json.end_array();
  json.member("AccountId", std::string_view(queue.account));
  json.member("Value", metric.value(queue));
  json.member("Unit", metric.unit);
  json.end_object();
}

}  // namespace

CloudwatchPage::CloudwatchPage(const AdminRequest& request, const AdminFacts& facts)
    : figures_(facts.shards(), query_) {
  auto query = read_metrics_query(request, QueryAllows::queues);
  if (query) {
    query_ = std::move(*query);
  } else {
    refusal_ = std::move(query.error());
  }
}

ShardSlices::Next CloudwatchPage::next() { return complete_ ? Next() : figures_.next(); }

void CloudwatchPage::append(std::string& body) {
  CHECK(!complete_ && !refusal_, "a piece behind the last");
  if (!figures_.complete()) {
    figures_.take();
    if (figures_.complete()) refusal_ = figures_.missing_queue();
    return;
  }
  if (!std::exchange(begun_, true)) body += "{\"Namespace\":\"AWS/SQS\",\"MetricData\":[";
  const std::vector<QueueMetrics>& queues = figures_.metrics().queues;
  bool first = queue_ == 0;
  for (const std::size_t end = std::min(queue_ + queues_piece, queues.size()); queue_ < end;
       ++queue_) {
    const QueueMetrics& queue = queues[queue_];
    if (queue.is_other()) continue;
    for (const CloudwatchMetric& metric : cloudwatch_metrics) {
      if (metric.fifo_only && !queue.name.ends_with(".fifo")) continue;
      body += std::exchange(first, false) ? "\n" : ",\n";
      append_datum(body, queue, metric);
    }
  }
  complete_ = queue_ == queues.size();
  if (complete_) body += "\n]}\n";
}

std::unique_ptr<ShardSlices> cloudwatch_page(const AdminRequest& request, const AdminFacts& facts) {
  return std::make_unique<CloudwatchPage>(request, facts);
}

}  // namespace pawl

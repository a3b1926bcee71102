// SPDX-License-Identifier: Apache-2.0
// GET /cloudwatch.json: the metrics of SQS in CloudWatch, by the names that AWS gives them, of each
// queue with a label.
//
//   {"Namespace":"AWS/SQS","MetricData":[
//   {"MetricName":"NumberOfMessagesSent","Dimensions":[{"Name":"QueueName","Value":"orders"}],
//    "AccountId":"000000000000","Value":3,"Unit":"Count"}, ...
//   ]}
//
// Counters are totals since the start of the server. `?queue=NAME` chooses queues.
//
// Units:  seconds, rounded down.
// Limits: queues_piece queues a piece; see figure_slices.h.
// Errors: 400: a wrong query; 404: an unknown queue.
// Owner:  see admin_page.h.
// Source: SQS Developer Guide, "Available CloudWatch metrics for Amazon SQS".
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/admin/admin_page.h"
#include "net/admin/figure_slices.h"
#include "net/admin/metrics_query.h"

namespace pawl {

class CloudwatchPage final : public ShardSlices {
 public:
  static constexpr std::size_t queues_piece = 64;  // 90 KB

  CloudwatchPage(const AdminRequest& request, const AdminFacts& facts);
  CloudwatchPage(const CloudwatchPage&) = delete;
  CloudwatchPage& operator=(const CloudwatchPage&) = delete;

  std::string_view content_type() const override { return "application/json"; }
  const AdminAnswer* refusal() const override { return refusal_ ? &*refusal_ : nullptr; }
  Next next() override;
  void append(std::string& body) override;
  std::size_t memory() const override { return sizeof *this + figures_.memory(); }

 private:
  MetricsQuery query_;
  std::optional<AdminAnswer> refusal_;
  FigureSlices figures_;
  std::size_t queue_ = 0;  // the next to be written
  bool begun_ = false, complete_ = false;
};

std::unique_ptr<ShardSlices> cloudwatch_page(const AdminRequest& request, const AdminFacts& facts);

}  // namespace pawl

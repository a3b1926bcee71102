// SPDX-License-Identifier: Apache-2.0
// StatisticsSeries: the figures of given queues, asked for a batch of queues at a time.
//
//   begin --route--> [figures of a batch] --> resume --route--> [counts of those without a label]
//     ^                                                           |
//     +------------------------- next batch ----------------------+--> respond
//
// Each request lists one queue (core/shard/queue_list.h) and goes to that queue's shard. A queue
// that was deleted meanwhile is left out, and no figure of another queue takes its place.
//
// Limits: batch_max requests at a time.
// Errors: none.
// Owner:  the call. Routes are valid until the next resume() or begin().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/check.h"
#include "core/queue/queue_config.h"
#include "core/queue/request.h"
#include "proto/aws/call_types.h"

namespace pawl {

struct QueueStatistics {
  ConfigPtr config;
  QueueCounts counts;
  std::optional<QueueFigures> figures;  // none: the queue has no label
  Instant oldest_sent = never;          // never: it has no message, or no label
  Instant now;                          // of the counts

  double oldest_age_seconds() const;  // 0: no message
  double mean_lease_seconds() const;  // 0: no lease has ended
  // Seconds until the queue is empty at the rate of its deletes; none at rate 0.
  std::optional<double> drain_seconds() const;
  // Consumers that keep up with the sends, and bring the visible messages to x-lag-target.
  double workers_wanted() const;
};

class StatisticsSeries {
 public:
  static constexpr std::size_t batch_max = 64;

  // No queue: nothing is asked.
  CallStep begin(std::vector<ConfigPtr> queues);
  bool begun() const { return !asked_.empty(); }
  std::span<const CallRoute> routes() const {
    CHECK(!routes_.empty(), "a series of {} queues that asks nothing", queues_.size());
    return routes_;
  }
  // Calls visit(QueueStatistics) for each queue of a complete batch. False of it ends the series.
  template <typename Visit>
  CallStep resume(Visit&& visit);
  void clear();
  std::size_t memory() const;  // approximate bytes held

 private:
  struct Asked {
    Request request;
    QueueSlice slice;
    QueueStatistics found;  // its config is null while the queue has not been found
  };

  void ask(Asked& asked, const QueueConfig& queue, bool figures);
  CallStep ask_batch();
  // True: the batch is complete.
  bool take();

  std::vector<ConfigPtr> queues_;
  std::size_t next_ = 0;   // the first queue of the next batch
  std::size_t batch_ = 0;  // queues in this one
  bool counting_ = false;  // it asks for those without a label
  std::vector<std::unique_ptr<Asked>> asked_;
  std::vector<CallRoute> routes_;
};

template <typename Visit>
CallStep StatisticsSeries::resume(Visit&& visit) {
  CHECK(batch_ > 0 && batch_ <= asked_.size(), "a batch of {} queues", batch_);
  if (!take()) return CallStep::route;
  for (std::size_t i = 0; i < batch_; ++i) {
    const QueueStatistics& found = asked_[i]->found;
    if (found.config != nullptr && !visit(found)) return CallStep::respond;
  }
  return next_ == queues_.size() ? CallStep::respond : ask_batch();
}

}  // namespace pawl

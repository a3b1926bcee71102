// SPDX-License-Identifier: Apache-2.0
#include "proto/pawl/statistics_series.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/queue/queue_figures.h"

namespace pawl {
double QueueStatistics::oldest_age_seconds() const {
  return pawl::oldest_age_seconds(oldest_sent, now);
}

double QueueStatistics::mean_lease_seconds() const {
  return figures ? pawl::mean_lease_seconds(figures->leases) : 0;
}

std::optional<double> QueueStatistics::drain_seconds() const {
  CHECK(figures.has_value(), "queue {} has no figures", config->name);
  const double seconds = pawl::drain_seconds(*figures);
  return std::isinf(seconds) ? std::nullopt : std::optional(seconds);
}

double QueueStatistics::workers_wanted() const {
  CHECK(figures.has_value(), "queue {} has no figures", config->name);
  return pawl::workers_wanted(*figures, counts.visible, config->lag_target());
}

CallStep StatisticsSeries::begin(std::vector<ConfigPtr> queues) {
  queues_ = std::move(queues);
  next_ = batch_ = 0;
  return queues_.empty() ? CallStep::respond : ask_batch();
}

void StatisticsSeries::clear() {
  queues_.clear();
  asked_.clear();
  routes_.clear();
  next_ = batch_ = 0;
}

void StatisticsSeries::ask(Asked& asked, const QueueConfig& queue, bool figures) {
  CHECK(queue.is_queue(), "the figures of row {}", queue.name);
  asked.slice = QueueSlice();
  asked.slice.rows = 1;
  asked.slice.wants_figures = figures;
  asked.request = Request{.op = Op::list_queues, .queue = queue.id};
  asked.request.slice = &asked.slice;
  routes_.push_back({&asked.request, queue.owner});
}

CallStep StatisticsSeries::ask_batch() {
  CHECK(next_ < queues_.size(), "a batch behind {} queues", queues_.size());
  counting_ = false;
  batch_ = std::min(batch_max, queues_.size() - next_);
  while (asked_.size() < batch_) asked_.push_back(std::make_unique<Asked>());
  routes_.clear();
  for (std::size_t i = 0; i < batch_; ++i) {
    asked_[i]->found = QueueStatistics();
    ask(*asked_[i], *queues_[next_ + i], true);
  }
  next_ += batch_;
  return CallStep::route;
}

bool StatisticsSeries::take() {
  routes_.clear();
  CHECK(next_ >= batch_, "{} of {} queues", batch_, next_);
  for (std::size_t i = 0; i < batch_; ++i) {
    Asked& asked = *asked_[i];
    const ConfigPtr& queue = queues_[next_ - batch_ + i];
    if (asked.found.config != nullptr) continue;
    const QueueSlice& slice = asked.slice;
    CHECK(slice.queues.size() <= 1, "{} queues in a slice of one row", slice.queues.size());
    const bool listed = !slice.queues.empty() && slice.queues.front().config->id == queue->id;
    if (listed) {
      const ListedQueue& found = slice.queues.front();
      asked.found = {.config = found.config, .counts = found.counts, .now = slice.now};
      asked.found.oldest_sent = found.oldest_sent;
      if (slice.wants_figures) asked.found.figures = slice.figures.front();
    } else if (!counting_) {
      ask(asked, *queue, false);
    }
  }
  counting_ = true;
  return routes_.empty();
}

std::size_t StatisticsSeries::memory() const {
  return queues_.capacity() * sizeof(ConfigPtr) + routes_.capacity() * sizeof(CallRoute) +
         asked_.size() * (sizeof(Asked) + sizeof(ListedQueue) + sizeof(QueueFigures));
}

}  // namespace pawl

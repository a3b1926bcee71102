// SPDX-License-Identifier: Apache-2.0
#include "core/queue/queue_figures.h"

#include <limits>

#include "core/base/check.h"

namespace pawl {
namespace {

double seconds_of(std::uint64_t ms) { return static_cast<double>(ms) / 1000.0; }

}  // namespace

double oldest_age_seconds(Instant oldest_sent, Instant now) {
  if (oldest_sent == never || oldest_sent >= now) return 0;
  return seconds_of(static_cast<std::uint64_t>((now - oldest_sent).ms));
}

double mean_lease_seconds(const LeaseTimes& leases) {
  if (leases.count() == 0) return 0;
  return seconds_of(leases.sum_ms()) / static_cast<double>(leases.count());
}

double drain_seconds(const QueueFigures& figures) {
  CHECK(figures.deleted_per_second >= 0, "{} deletes/s", figures.deleted_per_second);
  const auto messages = static_cast<double>(figures.sums.messages);
  if (messages == 0) return 0;
  return figures.deleted_per_second > 0 ? messages / figures.deleted_per_second
                                        : std::numeric_limits<double>::infinity();
}

double workers_wanted(const QueueFigures& figures, std::uint64_t visible, Duration lag_target) {
  const double lease = mean_lease_seconds(figures.leases);
  const double backlog = lag_target.ms > 0 ? static_cast<double>(visible) * lease * 1000.0 /
                                                 static_cast<double>(lag_target.ms)
                                           : 0;
  return figures.sent_per_second * lease + backlog;
}

}  // namespace pawl

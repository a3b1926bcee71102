// SPDX-License-Identifier: Apache-2.0
// What the figures of a queue mean for those who run its consumers.
//
// Units:  seconds.
// Owner:  free functions of values.
#pragma once

#include <cstdint>

#include "core/base/time.h"
#include "core/queue/request.h"

namespace pawl {

// 0: no message, or one from the future. `oldest_sent`: never without messages.
double oldest_age_seconds(Instant oldest_sent, Instant now);
double mean_lease_seconds(const LeaseTimes& leases);  // 0: no lease has ended
// Time until the queue is empty at its rate of deletes; infinity if nothing is deleted.
double drain_seconds(const QueueFigures& figures);
// Consumers, each with one message at a time, that keep up with the sends and bring the visible
// messages within `lag_target`; 0 of them for the backlog without a target.
double workers_wanted(const QueueFigures& figures, std::uint64_t visible, Duration lag_target);

}  // namespace pawl

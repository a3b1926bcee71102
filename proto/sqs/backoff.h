// SPDX-License-Identifier: Apache-2.0
// The queue attribute x-retry-backoff: when a message that comes back is delivered again.
//
//   {"base":"1s","factor":2,"cap":"15m","jitter":"full"}       1 s, 2 s, 4 s ... 15 min
//   {"steps":["1m","5m","30m","2h"],"jitter":"none"}            the last one repeats
//
// Jitter is full, the factor 2 and the cap 15 minutes unless the policy says others.
//
// Units:  durations as proto/text/duration.h reads them.
// Limits: backoff_steps_max steps, also on the way from base to cap; each at most backoff_step_max.
// Errors: InvalidAttributeValue, with the member, its value and what is allowed.
// Owner:  the changes own their texts.
#pragma once

#include <string_view>
#include <vector>

#include "core/queue/queue_config.h"
#include "proto/errors/sqs_errors.h"

namespace pawl {

// Adds the policy and its plan (core/queue/retry_backoff.h); an empty value unsets both.
[[nodiscard]] bool read_retry_backoff(std::string_view value, std::vector<AttributeChange>& out,
                                      Refusal& refusal);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Attributes by which the sender of a message asks for more than SQS offers. Their names begin with
// x-. A sender writes them among the system attributes; in a queue with x-attributes=message also
// among the message attributes, which clients pass on that know no others.
//
//   x-not-before   2026-12-24T18:00:00Z, or milliseconds since 1970: no delivery before that time
//   x-ttl          30s: the message expires so long after it becomes visible
//
// Units:  times of the wall clock.
// Limits: x-ttl is 1 ms to time_to_live_max.
// Errors: InvalidParameterValue, with the value and what is allowed.
// Owner:  OwnAttributes points into the request.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/time.h"
#include "core/queue/queue_config.h"
#include "proto/aws/message_attributes.h"
#include "proto/errors/sqs_errors.h"

namespace pawl {

// A time as given, and as read.
struct GivenTime {
  std::string_view text;
  Instant time;
};

// The own attributes of one message.
struct OwnAttributes {
  std::optional<GivenTime> not_before;
  std::optional<Duration> time_to_live;  // not 0
};

inline constexpr std::string_view not_before_name = "x-not-before";
inline constexpr std::string_view time_to_live_name = "x-ttl";

bool is_own_attribute(std::string_view name);

// For an error text: the own attribute nearest to an unknown name that begins with x-, or all.
// Empty for other names, which are not meant for pawl.
std::string own_attribute_hint(std::string_view name);

// Reads an attribute whose name is_own_attribute() knows. Refuses a second value. `out` stays empty
// for a message that has none: most have none.
[[nodiscard]] bool read_own_attribute(const MessageAttribute& given,
                                      std::optional<OwnAttributes>& out, Refusal& refusal);

// The delay that x-not-before asks for at `now`; zero if the time has passed.
[[nodiscard]] bool delay_until(const GivenTime& not_before, Instant now, const QueueConfig& queue,
                               Duration& out, Refusal& refusal);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// expected_end: when a message expires, and by which rule.
//
//   retention       from its send; a dead letter and a delayed message may have a later begin
//   time to live    from when it first becomes visible: x-ttl, x-message-ttl
//
// The log has no later delivery time that was set by the message's id: once such a message is
// visible, the result counts from the first one.
//
// Units:  times are those of the engine.
// Errors: none.
// Owner:  the caller.
#pragma once

#include <optional>
#include <string>

#include "core/base/time.h"
#include "core/queue/queue_config.h"
#include "core/queue/request.h"

namespace pawl {

struct ExpectedEnd {
  std::optional<Instant> at;  // none: it should have expired, but has got a new delivery time
  std::string text;           // sentences, with a space before each; empty: the retention alone
};

ExpectedEnd expected_end(const QueueConfig& queue, const PeekedMessage& message,
                         const Delivery& delivery, Instant now);

}  // namespace pawl

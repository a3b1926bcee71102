// SPDX-License-Identifier: Apache-2.0
// Rules between the attributes of one queue: some exclude or need each other, some are limited by
// another one.
//
// Units:  seconds.
// Errors: InvalidAttributeName, InvalidAttributeValue; in AWS's words where the rule is SQS's.
// Owner:  free functions.
// Source: SQS API Reference, SetQueueAttributes; tools/DELAYING.md for the limits that are lifted.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/queue/queue_config.h"
#include "proto/errors/sqs_errors.h"

namespace pawl {

// An attribute of SQS whose maximum one of pawl's can lift.
struct LiftedLimit {
  std::string_view name, by_name;
  Attribute limited, by;
  std::int64_t least;    // the minimum
  std::int64_t usual_s;  // the maximum of SQS
};

// Null for an attribute whose maximum is fixed.
const LiftedLimit* lifted_limit(Attribute limited);

// True for the name of an attribute that lifts the maximum of another one.
bool lifts_a_limit(std::string_view name);

// Checks the changes together with the rest of the queue's config; null before its creation.
[[nodiscard]] bool fit_together(std::span<const AttributeChange> changes, const QueueConfig* queue,
                                Refusal& refusal);

}  // namespace pawl

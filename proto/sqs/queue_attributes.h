// SPDX-License-Identifier: Apache-2.0
// Queue attributes in SQS's form: names, ranges and error texts, from one table.
//
// Units:  seconds and bytes, as texts; timestamps in seconds since 1970.
// Limits: attribute_text_max bytes for policies and key ids.
// Errors: InvalidAttributeName, InvalidAttributeValue in AWS's words; the errors of redrive.h.
// Owner:  values.
// Source: SQS API Reference, CreateQueue, SetQueueAttributes and GetQueueAttributes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/queue/queue_config.h"
#include "core/queue/request.h"
#include "proto/errors/sqs_errors.h"
#include "proto/sqs/input.h"
#include "proto/sqs/redrive.h"
#include "proto/sqs/result.h"

namespace pawl {

struct CallSettings;  // proto/aws/call_types.h

inline constexpr std::size_t attribute_text_max = 8192;  // AWS's quota for a policy

// The attributes that SetQueueAttributes or CreateQueue can set, each once.
std::span<const Attribute> settable_attributes();

// SQS's name; RedrivePolicy for the attributes that are derived from it.
std::string_view name_of(Attribute attribute);

// The value in SQS's form; empty if the queue does not have the attribute.
std::string text_of(Attribute attribute, const QueueConfig& queue);

// The allowed values of a settable attribute, for an error text; empty: a policy, or no such name.
std::string allowed_values(std::string_view name);

// Refuses a name that a FIFO queue cannot have; always returns false.
bool refuse_fifo_name(Refusal& refusal);

// Checks all attributes of CreateQueue or SetQueueAttributes. `out` gets the changes in the given
// order. A policy that is equal to the queue's current one gets the current text.
[[nodiscard]] bool read_queue_attributes(std::span<const SqsInput::Pair> given,
                                         const AttributeSubject& of,
                                         std::vector<AttributeChange>& out, Refusal& refusal);

// A set of readable attributes, one bit for each row of the table.
using QueueAttributeSet = std::uint64_t;

// The set requested by names, or by "All".
[[nodiscard]] bool select_queue_attributes(std::span<const std::string_view> names,
                                           QueueAttributeSet& out, Refusal& refusal);

// True if the set contains counts of messages, which only the queue's shard knows.
bool wants_counts(QueueAttributeSet set);

// Writes the map "Attributes" with the set's attributes that the queue has; nothing if it has none.
void write_queue_attributes(QueueAttributeSet set, const QueueConfig& queue,
                            const QueueCounts& counts, const CallSettings& config,
                            SqsResult& result);

}  // namespace pawl

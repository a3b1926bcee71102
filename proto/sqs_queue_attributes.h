// Queue attributes as SQS shows and takes them: names, ranges, and the texts of refusals, in one table.
//
// Units:  seconds and bytes, as texts; timestamps in seconds since 1970.
// Limits: attribute_text_max bytes for policies and key ids.
// Errors: InvalidAttributeName, InvalidAttributeValue as AWS words them; what sqs_redrive.h says.
// Owner:  values.
// Source: SQS API Reference, CreateQueue, SetQueueAttributes and GetQueueAttributes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/queue_config.h"
#include "core/request.h"
#include "proto/sqs_errors.h"
#include "proto/sqs_input.h"
#include "proto/sqs_redrive.h"
#include "proto/sqs_result.h"

namespace pawl {

struct SqsConfig;  // sqs.h

inline constexpr std::size_t attribute_text_max = 8192;  // AWS's quota for a policy

// SQS's name; that of the RedrivePolicy for what is derived from it.
std::string_view name_of(Attribute attribute);

// The value as SQS shows it; empty when the queue does not have the attribute.
std::string text_of(Attribute attribute, const QueueConfig& queue);

// The refusal of a name that a FIFO queue cannot have; always false.
bool refuse_fifo_name(Refusal& refusal);

// What CreateQueue or SetQueueAttributes is given, checked whole. `out` has the changes in the order
// given; of policies that the queue has already, in the words it has them in.
[[nodiscard]] bool read_queue_attributes(std::span<const SqsInput::Pair> given,
                                         const AttributeSubject& of,
                                         std::vector<AttributeChange>& out, Refusal& refusal);

// Some of the attributes that can be read, one bit for each row of the table.
using QueueAttributeSet = std::uint32_t;

// The set that is asked for by name, or by "All".
[[nodiscard]] bool select_queue_attributes(std::span<const std::string_view> names,
                                           QueueAttributeSet& out, Refusal& refusal);

// Whether a set contains counts of messages, which the queue's shard alone knows.
bool wants_counts(QueueAttributeSet set);

// Writes those of the set that the queue has as the map "Attributes"; nothing if it has none of them.
void write_queue_attributes(QueueAttributeSet set, const QueueConfig& queue,
                            const QueueCounts& counts, const SqsConfig& config, SqsResult& result);

}  // namespace pawl

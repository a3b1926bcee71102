// Queue attributes as SQS shows and takes them: names, ranges, and the texts of refusals, in one table.
//
// Units:  seconds and bytes, as texts; timestamps in seconds since 1970.
// Limits: attribute_text_max bytes for policies and key ids.
// Errors: InvalidAttributeName, InvalidAttributeValue as AWS words them. RedrivePolicy,
//         RedriveAllowPolicy and FIFO queues are understood but not supported: `unsupported` tells.
// Owner:  values.
// Source: SQS API Reference, CreateQueue, SetQueueAttributes and GetQueueAttributes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/queue_config.h"
#include "core/request.h"
#include "proto/sqs_errors.h"
#include "proto/sqs_input.h"
#include "proto/sqs_result.h"

namespace pawl {

inline constexpr std::size_t attribute_text_max = 8192;  // AWS's quota for a policy

std::string_view name_of(Attribute attribute);

struct QueueAttributeChanges {
  std::vector<AttributeChange> changes;  // in the order given
  std::string_view unsupported;  // the first attribute that this version cannot set, or empty
};

// What CreateQueue or SetQueueAttributes is given, checked whole. For a queue that is to be FIFO, the
// attributes of FIFO queues are let through, and not looked at.
[[nodiscard]] bool read_queue_attributes(std::span<const SqsInput::Pair> given, bool fifo,
                                         QueueAttributeChanges& out, Refusal& refusal);

// Some of the attributes that can be read, one bit for each row of the table.
using QueueAttributeSet = std::uint32_t;

// The set that is asked for by name, or by "All".
[[nodiscard]] bool select_queue_attributes(std::span<const std::string_view> names,
                                           QueueAttributeSet& out, Refusal& refusal);

// Whether a set contains counts of messages, which the queue's shard alone knows.
bool wants_counts(QueueAttributeSet set);

// Writes those of the set that the queue has as the map "Attributes"; nothing if it has none of them.
void write_queue_attributes(QueueAttributeSet set, const QueueConfig& queue,
                            const QueueCounts& counts, std::string_view region, SqsResult& result);

}  // namespace pawl

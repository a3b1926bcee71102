// SPDX-License-Identifier: Apache-2.0
// Queues in the binary protocol: their attributes and tags, with SQS's names and texts.
//
// Errors: bad_attributes (unknown, malformed, out of range), invalid (tags). The reader detects a
//         payload that is too short, which is bad_frame.
// Owner:  free functions.
// Source: SQS API Reference, CreateQueue.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/queue/queue_config.h"
#include "proto/binary/frames.h"
#include "proto/sqs/redrive.h"

namespace pawl::binary {

// `of`: the queue that receives the attributes.
Status take_queue_attributes(BinaryReader& in, const AttributeSubject& of,
                             std::vector<AttributeChange>& changes);
Status take_tags(BinaryReader& in, Tags& tags);

// Writes all set attributes and those derived from them.
void put_queue_attributes(std::string& out, const QueueConfig& config);

// ok or invalid.
Status check_queue_name(std::string_view name);

}  // namespace pawl::binary

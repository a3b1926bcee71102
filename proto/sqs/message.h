// SPDX-License-Identifier: Apache-2.0
// Checks of a message to be sent, by SQS's rules and in SQS's order, and its form for the broker.
//
// Order: body present, delay, attributes, rules of the queue type, characters of the body, size.
// The attributes of proto/aws/own_attributes.h are read among the system attributes, and among the
// user attributes in queues that allow it; only the former are stored as system attributes.
//
// Units:  DelaySeconds in seconds; sizes in bytes: body, and names, types and values of attributes.
// Errors: a Refusal, with AWS's texts.
// Owner:  SqsMessage owns the encoded attributes and the digests; the body stays in the SqsInput.
// Source: SQS API Reference, SendMessage; texts and their order as recorded from AWS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/time_shift.h"
#include "core/queue/queue_config.h"
#include "core/queue/request.h"
#include "proto/aws/message_attributes.h"
#include "proto/aws/message_rules.h"
#include "proto/errors/sqs_errors.h"
#include "proto/sqs/input.h"
#include "proto/text/digest.h"

namespace pawl {

inline constexpr std::int64_t message_size_max = 1'048'576;  // of a message, and of a whole batch

// An accepted message.
struct SqsMessage {
  std::string attributes;  // encoding: proto/aws/message_attributes.h
  std::string system;
  Md5 body_md5{};  // set by the caller of check_message()
  Md5 attributes_md5{};
  Md5 system_md5{};      // digest of the system attributes in the request
  std::string dedup_id;  // FIFO: the given id, or the SHA-256 of the body in hex
  bool has_attributes = false;
  bool has_system = false;
};

// The error texts for single messages differ from those for entries of a batch.
enum class SqsWords : std::uint8_t { single, batch_entry };

// The circumstances of a send.
struct SqsSending {
  const QueueConfig& queue;
  std::string_view trace;  // X-Amzn-Trace-Id, empty when absent: replaces a missing AWSTraceHeader
  Instant now;             // engine time
  const TimeShift* shift = &no_shift;  // from engine time to wall time
  SqsWords words = SqsWords::single;
};

// Checks one message of `input`. On success fills `send`, which points to `message`, and
// `message` except for its body_md5: the caller hashes the bodies of a batch together.
[[nodiscard]] bool check_message(const SqsInput& input, const SqsEntryInput& entry,
                                 const SqsSending& sending, SqsMessage& message, SendEntry& send,
                                 Refusal& refusal);

// Checks that a message for a FIFO queue has a group and, unless the queue deduplicates by content,
// a deduplication id. One entry without them refuses the whole batch.
[[nodiscard]] bool check_fifo_ids_given(const SqsEntryInput& entry, const QueueConfig& queue,
                                        SqsWords words, Refusal& refusal);

// The size of a message for the limits; the message need not be checked yet.
std::size_t message_size(const SqsInput& input, const SqsEntryInput& entry);

}  // namespace pawl

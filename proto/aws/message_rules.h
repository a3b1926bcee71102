// SPDX-License-Identifier: Apache-2.0
// The rules for parts of a message that SQS and SNS share: one attribute, ids, sequence numbers.
//
// Errors: a Refusal, with AWS's texts.
// Owner:  free functions. AttributeInput points into the request.
// Source: SQS API Reference, SendMessage; texts as recorded from AWS.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "core/base/ids.h"
#include "proto/aws/message_attributes.h"
#include "proto/errors/sqs_errors.h"

namespace pawl {

inline constexpr std::size_t message_id_max = 128;  // see good_message_id()

// A message attribute as given, before any check.
struct AttributeInput {
  std::string_view name;
  std::optional<std::string_view> type, text, bytes;  // `bytes` is decoded from base64
  bool has_list = false;
};

// Checks one user attribute; `out` gets the value that its type selects.
[[nodiscard]] bool check_message_attribute(const AttributeInput& given, MessageAttribute& out,
                                           Refusal& refusal);

// True for a valid MessageGroupId, MessageDeduplicationId or ReceiveRequestAttemptId: 1..128
// printable ASCII characters except the space.
bool good_message_id(std::string_view id);

// True for a valid name of a queue or a topic: letters, digits, - and _, with or without .fifo
// behind them.
inline constexpr std::size_t queue_name_max = 80, topic_name_max = 256;
bool good_resource_name(std::string_view name, std::size_t max);

// True for a valid Id of a batch entry: 1..80 letters, digits, - and _.
inline constexpr std::size_t entry_id_max = 80;
bool good_entry_id(std::string_view id);

// Writes a SequenceNumber: 20 digits.
void write_sequence_number(std::array<char, 20>& out, Seq seq);

}  // namespace pawl

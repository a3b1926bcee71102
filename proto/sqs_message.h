// Messages on their way in: SQS's rules for a send, checked in SQS's order, and what is kept of it.
//
// Order: body there, delay, attributes, what only one kind of queue takes, characters of the body, size.
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

#include "core/queue_config.h"
#include "core/request.h"
#include "proto/attributes.h"
#include "proto/digest.h"
#include "proto/sqs_errors.h"
#include "proto/sqs_input.h"

namespace pawl {

inline constexpr std::int64_t message_size_max = 1'048'576;  // of a message, and of a whole batch

inline constexpr std::size_t message_id_max = 128;  // of MessageGroupId and its kin

// One message as accepted.
struct SqsMessage {
  std::string attributes;  // encoded as proto/attributes.h says
  std::string system;
  Md5 body_md5{};
  Md5 attributes_md5{};
  Md5 system_md5{};      // of the system attributes that were sent
  std::string dedup_id;  // FIFO: the one given, or the SHA-256 of the body in hex
  bool has_attributes = false;
  bool has_system = false;
};

// Single messages and entries of a batch are refused in different words.
enum class SqsWords : std::uint8_t { single, batch_entry };

// Checks one message of `input`. `trace` is the X-Amzn-Trace-Id header, empty when absent: it stands in
// for an AWSTraceHeader that was not sent. On success `message` and `send` are filled.
[[nodiscard]] bool check_message(const SqsInput& input, const SqsEntryInput& entry,
                                 const QueueConfig& queue, std::string_view trace, SqsWords words,
                                 SqsMessage& message, SendEntry& send, Refusal& refusal);

// Checks one user attribute and takes the value that its type says counts.
[[nodiscard]] bool check_message_attribute(const SqsAttributeInput& given, MessageAttribute& out,
                                           Refusal& refusal);

// What every message for a FIFO queue needs: a group, and something to deduplicate it by. In a batch the
// lack of it in one entry refuses the whole.
[[nodiscard]] bool check_fifo_ids_given(const SqsEntryInput& entry, const QueueConfig& queue,
                                        SqsWords words, Refusal& refusal);

// MessageGroupId and its kin: 1..128 printable ASCII characters but the space.
bool good_message_id(std::string_view id);

// The Id of an entry in a batch: 1..80 letters, digits, - and _.
bool good_entry_id(std::string_view id);

// What a message counts towards the limits, before it is checked.
std::size_t message_size(const SqsInput& input, const SqsEntryInput& entry);

}  // namespace pawl

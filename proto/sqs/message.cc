// SPDX-License-Identifier: Apache-2.0
#include "proto/sqs/message.h"

#include <algorithm>
#include <array>
#include <span>

#include "core/base/check.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

using F = SqsFault;
using M = SqsMember;

std::span<const AttributeInput> kept(const SqsInput& input, const SqsAttributeRange& range) {
  return std::span(input.attributes).subspan(range.first, range.kept);
}

bool check_user_attributes(const SqsInput& input, const SqsEntryInput& entry, SqsMessage& message,
                           Refusal& refusal) {
  if (entry.attributes.given > message_attributes_max) {
    return refusal.because(F::invalid_parameter_value,
                           "Number of message attributes [{}] exceeds the allowed maximum [{}].",
                           entry.attributes.given, message_attributes_max);
  }
  CHECK(entry.attributes.kept <= message_attributes_max, "{} attributes are kept",
        entry.attributes.kept);
  message.attributes.clear();
  message.has_attributes = false;
  if (entry.attributes.kept == 0) return true;
  std::array<MessageAttribute, message_attributes_max> attributes;
  std::size_t count = 0;
  for (const AttributeInput& given : kept(input, entry.attributes)) {
    MessageAttribute& a = attributes[count++];
    if (!check_message_attribute(given, a, refusal)) return false;
  }
  const auto used = std::span(attributes).first(count);
  std::ranges::sort(used, {}, &MessageAttribute::name);
  const auto twin = std::ranges::adjacent_find(used, {}, &MessageAttribute::name);
  if (twin != used.end()) {
    return refusal.because(F::invalid_parameter_value,
                           "Message (user) attribute name '{}' already exists.", shown(twin->name));
  }
  for (const MessageAttribute& a : used) append_attribute(message.attributes, a);
  message.has_attributes = attributes_md5(message.attributes, message.attributes_md5);
  return true;
}

bool check_system_attribute(const AttributeInput& given, Refusal& refusal) {
  if (given.name != trace_header_name) {
    return refusal.because(F::invalid_parameter_value,
                           "Message system attribute name '{}' is invalid.", shown(given.name));
  }
  if (given.type != "String") {
    return refusal.because(F::invalid_parameter_value,
                           "The type of message (system) attribute '{}' is invalid. You must use "
                           "only the following supported type prefixes: String.",
                           given.name);
  }
  if (!given.text || given.text->empty()) {
    return refusal.because(
        F::invalid_parameter_value,
        "The message (system) attribute '{}' must contain a non-empty message attribute value.",
        given.name);
  }
  if (given.text->size() > trace_header_max) {
    return refusal.because(F::invalid_parameter_value,
                           "The value of message (system) attribute '{}' has {} bytes; the limit "
                           "is {}.",
                           given.name, given.text->size(), trace_header_max);
  }
  if (check_text(*given.text) != TextFault::none) {
    return refusal.because(F::invalid_parameter_value,
                           "Invalid characters found in the value of message (system) attribute "
                           "'{}'. Valid unicode characters are {}",
                           given.name, allowed_characters);
  }
  return true;
}

bool check_system_attributes(const SqsInput& input, const SqsEntryInput& entry,
                             std::string_view trace, SqsMessage& message, Refusal& refusal) {
  for (const AttributeInput& given : kept(input, entry.system)) {
    if (!check_system_attribute(given, refusal)) return false;
    trace = *given.text;
  }
  if (entry.system.given > 1) {
    return refusal.because(F::invalid_parameter_value,
                           "Message (system) attribute name '{}' already exists.",
                           trace_header_name);
  }
  message.system.clear();
  append_trace_header(message.system, trace);
  message.has_system = entry.system.given > 0 && attributes_md5(message.system, message.system_md5);
  return true;
}

bool refuse_id(std::string_view parameter, std::string_view id, Refusal& refusal) {
  return refusal.because(F::invalid_parameter_value,
                         "Value {0} for parameter {1} is invalid. Reason: {1} can only include "
                         "alphanumeric and punctuation characters. 1 to 128 in length.",
                         shown(id), parameter);
}

// Checks the parameters that only one type of queue accepts.
bool check_for_kind(const SqsEntryInput& entry, const QueueConfig& queue, SqsWords words,
                    Refusal& refusal) {
  const SqsScalar& group = entry[M::group_id];
  const SqsScalar& deduplication = entry[M::deduplication_id];
  const SqsScalar& delay = entry[M::delay_seconds];
  if (queue.is_fifo()) {
    if (delay.number != 0) {
      return refusal.because(F::invalid_parameter_value,
                             "Value {} for parameter DelaySeconds is invalid. Reason: The request "
                             "include parameter that is not valid for this queue type.",
                             shown(delay.text));
    }
    if (!check_fifo_ids_given(entry, queue, words, refusal)) return false;
  } else if (deduplication.present) {
    return refusal.because(F::invalid_parameter_value,
                           "Value {} for parameter MessageDeduplicationId is invalid. Reason: The "
                           "request includes a parameter that is not valid for this queue type.",
                           shown(deduplication.text));
  }
  if (group.present && !good_message_id(group.text)) {
    return refuse_id("MessageGroupId", group.text, refusal);
  }
  if (deduplication.present && !good_message_id(deduplication.text)) {
    return refuse_id("MessageDeduplicationId", deduplication.text, refusal);
  }
  return true;
}

// Sets the deduplication id: the given one, otherwise the SHA-256 of the body.
void fill_dedup_id(const SqsEntryInput& entry, const QueueConfig& queue, SqsMessage& message) {
  message.dedup_id.clear();
  if (!queue.is_fifo()) return;
  const SqsScalar& given = entry[M::deduplication_id];
  if (given.present) {
    message.dedup_id = given.text;
  } else {
    append_hex(message.dedup_id, sha256(entry[M::body].text));
  }
}

bool check_body_and_delay(const SqsEntryInput& entry, Refusal& refusal) {
  if (entry[M::body].text.empty()) {
    return refusal.because(F::missing_parameter,
                           "The request must contain the parameter MessageBody.");
  }
  const SqsScalar& delay = entry[M::delay_seconds];
  if (delay.present && !delay.within(0, 900)) {
    return refusal.because(F::invalid_parameter_value,
                           "Value {} for parameter DelaySeconds is invalid. Reason: DelaySeconds "
                           "must be >= 0 and <= 900.",
                           shown(delay.text));
  }
  return true;
}

bool check_size(std::size_t size, const QueueConfig& queue, SqsWords words, Refusal& refusal) {
  const std::int64_t max = queue.number(Attribute::maximum_message_size);
  if (static_cast<std::int64_t>(size) <= max) return true;
  return refusal.because(
      F::invalid_parameter_value,
      "One or more parameters {}. Reason: Message must be shorter than {} bytes.",
      words == SqsWords::single ? "are invalid" : "cannot be validated", max);
}

}  // namespace

bool check_message(const SqsInput& input, const SqsEntryInput& entry, const QueueConfig& queue,
                   std::string_view trace, SqsWords words, SqsMessage& message, SendEntry& send,
                   Refusal& refusal) {
  if (!check_body_and_delay(entry, refusal)) return false;
  if (!check_user_attributes(input, entry, message, refusal)) return false;
  if (!check_system_attributes(input, entry, trace, message, refusal)) return false;
  if (!check_for_kind(entry, queue, words, refusal)) return false;
  const std::string_view body = entry[M::body].text;
  if (check_text(body) != TextFault::none) {
    return refusal.because(F::invalid_message_contents,
                           "Invalid characters found. Valid unicode characters are {}",
                           allowed_characters);
  }
  if (!check_size(message_size(input, entry), queue, words, refusal)) return false;

  fill_dedup_id(entry, queue, message);
  const SqsScalar& delay = entry[M::delay_seconds];
  send = {};
  send.content = {.body = body,
                  .attributes = message.attributes,
                  .system = message.system,
                  .group = entry[M::group_id].text,
                  .dedup_id = message.dedup_id,
                  .body_md5 = &message.body_md5};
  if (delay.present && !queue.is_fifo()) send.delay = seconds(delay.number);
  return true;
}

bool check_fifo_ids_given(const SqsEntryInput& entry, const QueueConfig& queue, SqsWords words,
                          Refusal& refusal) {
  if (!entry[M::group_id].present) {
    return refusal.because(
        words == SqsWords::single ? F::missing_parameter : F::invalid_parameter_value,
        "The request must contain the parameter MessageGroupId.");
  }
  if (entry[M::deduplication_id].present ||
      queue.number(Attribute::content_based_deduplication) == 1) {
    return true;
  }
  return refusal.because(F::invalid_parameter_value,
                         "The queue should either have ContentBasedDeduplication enabled or "
                         "MessageDeduplicationId provided explicitly");
}

std::size_t message_size(const SqsInput& input, const SqsEntryInput& entry) {
  std::size_t size = entry[M::body].text.size();
  for (const AttributeInput& a : kept(input, entry.attributes)) {
    const std::string_view type = a.type.value_or("");
    const auto& value = type.starts_with("Binary") ? a.bytes : a.text;
    size += a.name.size() + type.size() + value.value_or("").size();
  }
  return size;
}

}  // namespace pawl

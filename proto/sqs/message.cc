// SPDX-License-Identifier: Apache-2.0
#include "proto/sqs/message.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "core/base/check.h"
#include "proto/aws/own_attributes.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

using F = SqsFault;
using M = SqsMember;

std::span<const AttributeInput> kept(const SqsInput& input, const SqsAttributeRange& range) {
  return std::span(input.attributes).subspan(range.first, range.kept);
}

// In a queue with x-attributes=message they are read here too, and stay ordinary attributes.
bool read_own_among(std::span<const MessageAttribute> given, std::optional<OwnAttributes>& own,
                    Refusal& refusal) {
  return std::ranges::all_of(given, [&](const MessageAttribute& a) {
    return !is_own_attribute(a.name) || read_own_attribute(a, own, refusal);
  });
}

bool check_user_attributes(const SqsInput& input, const SqsEntryInput& entry,
                           const QueueConfig& queue, SqsMessage& message,
                           std::optional<OwnAttributes>& own, Refusal& refusal) {
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
  if (queue.takes_own_among_attributes() && !read_own_among(used, own, refusal)) return false;
  for (const MessageAttribute& a : used) append_attribute(message.attributes, a);
  message.has_attributes = attributes_md5(message.attributes, message.attributes_md5);
  return true;
}

bool check_system_attribute(const AttributeInput& given, bool own, Refusal& refusal) {
  const std::string_view type = given.type.value_or("");
  if (own ? type != "String" && type != "Number" : type != "String") {
    return refusal.because(F::invalid_parameter_value,
                           "The type of message (system) attribute '{}' is invalid. You must use "
                           "only the following supported type prefixes: {}.",
                           given.name, own ? "Number, String" : "String");
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

bool refuse_system_name(std::string_view name, Refusal& refusal) {
  return refusal.because(F::invalid_parameter_value,
                         "Message system attribute name '{}' is invalid.{}", shown(name),
                         own_attribute_hint(name));
}

// Adds a checked attribute, each name once.
bool add_system_attribute(const AttributeInput& given, std::span<const MessageAttribute> others,
                          MessageAttribute& out, Refusal& refusal) {
  const bool own = is_own_attribute(given.name);
  if (!own && given.name != trace_header_name) return refuse_system_name(given.name, refusal);
  if (!check_system_attribute(given, own, refusal)) return false;
  out = {given.name, *given.type, AttributeKind::text, *given.text};
  return std::ranges::find(others, given.name, &MessageAttribute::name) == others.end() ||
         refusal.because(F::invalid_parameter_value,
                         "Message (system) attribute name '{}' already exists.", given.name);
}

// `trace` is the header of HTTP. The digest does not cover it: the client hashes what it sent
// in the message.
bool check_system_attributes(const SqsInput& input, const SqsEntryInput& entry,
                             std::string_view trace, SqsMessage& message,
                             std::optional<OwnAttributes>& own, Refusal& refusal) {
  message.system.clear();
  message.has_system = false;
  if (entry.system.given == 0) {
    append_trace_header(message.system, trace);
    return true;
  }
  std::array<MessageAttribute, message_attributes_max> attributes;
  std::size_t count = 0;
  for (const AttributeInput& given : kept(input, entry.system)) {
    if (!add_system_attribute(given, std::span(attributes).first(count), attributes[count],
                              refusal))
      return false;
    ++count;
  }
  CHECK(entry.system.given == count, "{} of {} system attributes", count, entry.system.given);
  const auto used = std::span(attributes).first(count);
  if (!read_own_among(used, own, refusal)) return false;
  std::ranges::sort(used, {}, &MessageAttribute::name);
  static_assert(trace_header_name < "x-", "the trace header is the first");
  if (used.front().name != trace_header_name) append_trace_header(message.system, trace);
  const std::size_t from_http = message.system.size();
  for (const MessageAttribute& a : used) append_attribute(message.system, a);
  message.has_system =
      attributes_md5(std::string_view(message.system).substr(from_http), message.system_md5);
  return true;
}

bool refuse_id(std::string_view parameter, std::string_view id, Refusal& refusal) {
  return refusal.because(F::invalid_parameter_value,
                         "Value {0} for parameter {1} is invalid. Reason: {1} can only include "
                         "alphanumeric and punctuation characters. 1 to 128 in length.",
                         shown(id), parameter);
}

// Checks the parameters that only one type of queue accepts. A message of a FIFO queue has a delay
// of its own only where x-max-delay is set.
bool check_for_kind(const SqsEntryInput& entry, const QueueConfig& queue, SqsWords words,
                    Refusal& refusal) {
  const SqsScalar& group = entry[M::group_id];
  const SqsScalar& deduplication = entry[M::deduplication_id];
  const SqsScalar& delay = entry[M::delay_seconds];
  if (queue.is_fifo()) {
    if (delay.number != 0 && !queue.ages_from_delivery()) {
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

bool check_body_and_delay(const SqsEntryInput& entry, const QueueConfig& queue, Refusal& refusal) {
  if (entry[M::body].text.empty()) {
    return refusal.because(F::missing_parameter,
                           "The request must contain the parameter MessageBody.");
  }
  const SqsScalar& delay = entry[M::delay_seconds];
  const std::int64_t max = queue.delay_limit().ms / 1000;
  if (delay.present && !delay.within(0, max)) {
    return refusal.because(F::invalid_parameter_value,
                           "Value {} for parameter DelaySeconds is invalid. Reason: DelaySeconds "
                           "must be >= 0 and <= {}{}.",
                           shown(delay.text), max,
                           queue.ages_from_delivery() ? ", the queue's x-max-delay" : "");
  }
  return true;
}

// Sets the message's own delay, if the sender gives one. A DelaySeconds of 0 beside x-not-before is
// no second delay: some clients send it with every message.
bool read_delay(const SqsEntryInput& entry, const SqsSending& sending,
                const std::optional<OwnAttributes>& own, Duration& out, Refusal& refusal) {
  const SqsScalar& given = entry[M::delay_seconds];
  const bool sets_own = !sending.queue.is_fifo() || sending.queue.ages_from_delivery();
  if (!own || !own->not_before) {
    if (given.present && sets_own) out = seconds(given.number);
    return true;
  }
  if (given.number != 0) {
    return refusal.because(F::invalid_parameter_value,
                           "Value {} for the attribute {} is invalid. Reason: The message has "
                           "DelaySeconds too, with value {}. Send one of both.",
                           shown(own->not_before->text), not_before_name, shown(given.text));
  }
  Duration delay;
  if (!delay_until(*own->not_before, sending.shift->wall(sending.now), sending.queue, delay,
                   refusal))
    return false;
  if (sets_own) out = delay;
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

bool check_message(const SqsInput& input, const SqsEntryInput& entry, const SqsSending& sending,
                   SqsMessage& message, SendEntry& send, Refusal& refusal) {
  const QueueConfig& queue = sending.queue;
  std::optional<OwnAttributes> own;
  Duration delay = queue_default;
  if (!check_body_and_delay(entry, queue, refusal)) return false;
  if (!check_user_attributes(input, entry, queue, message, own, refusal)) return false;
  if (!check_system_attributes(input, entry, sending.trace, message, own, refusal)) return false;
  if (!check_for_kind(entry, queue, sending.words, refusal)) return false;
  if (!read_delay(entry, sending, own, delay, refusal)) return false;
  const std::string_view body = entry[M::body].text;
  if (check_text(body) != TextFault::none) {
    return refusal.because(F::invalid_message_contents,
                           "Invalid characters found. Valid unicode characters are {}",
                           allowed_characters);
  }
  if (!check_size(message_size(input, entry), queue, sending.words, refusal)) return false;

  fill_dedup_id(entry, queue, message);
  send = {};
  send.content = {.body = body,
                  .attributes = message.attributes,
                  .system = message.system,
                  .group = entry[M::group_id].text,
                  .dedup_id = message.dedup_id,
                  .body_md5 = &message.body_md5};
  send.delay = delay;
  if (own && own->time_to_live) send.time_to_live = *own->time_to_live;
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

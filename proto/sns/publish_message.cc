// SPDX-License-Identifier: Apache-2.0
// Reads and checks the messages of a publish.
#include <fmt/core.h>
#include <algorithm>
#include <deque>
#include <optional>

#include "proto/aws/message_attributes.h"
#include "proto/aws/message_rules.h"
#include "proto/sns/call.h"
#include "proto/sns/state.h"
#include "proto/text/base64.h"
#include "proto/text/digest.h"
#include "proto/text/json_dom.h"
#include "proto/text/text.h"

namespace pawl::sns {
namespace {

using F = SnsFault;

constexpr std::size_t subject_max = 100;

// Refuses the whole request, also if it is a batch.
template <typename... Args>
bool refuse_request(SnsMessage& m, F fault, fmt::format_string<Args...> text, Args&&... args) {
  m.refuses_request = true;
  return m.refusal.because(fault, text, std::forward<Args>(args)...);
}

// Chooses the text for sqs from {"default": "..", "sqs": ".."}. Of a member that is given twice the
// last one counts.
bool choose_text(SnsMessage& m, std::string_view message) {
  thread_local JsonDom dom;
  const auto json = dom.parse(message);
  if (!json || !json->is_object()) {
    return m.refusal.parameter("Message Structure - JSON message body failed to parse");
  }
  std::optional<std::string_view> sqs, otherwise;
  for (const auto [key, value] : json->members()) {
    if (key == "sqs" && value.text()) sqs = value.text();
    if (key == "default") otherwise = value.text();
  }
  if (!otherwise) {
    return refuse_request(
        m, F::invalid_parameter,
        "Invalid parameter: Message Structure - No default entry in JSON message body");
  }
  m.text = sqs && !sqs->empty() ? *sqs : *otherwise;
  return true;
}

bool check_text_of(SnsMessage& m, std::string_view message, std::string_view structure) {
  if (message.empty()) return m.refusal.parameter("Empty message");
  if (message.size() > SnsCall::message_bytes_max) {
    return m.refusal.parameter("Message too long");
  }
  if (structure == "json") {
    if (!choose_text(m, message)) return false;
  } else if (structure.empty()) {
    m.text = message;
  } else {
    return m.refusal.parameter("MessageStructure");
  }
  if (m.text.empty()) return m.refusal.parameter("Empty message");
  return check_text(m.text) == TextFault::none ||
         m.refusal.parameter(
             "Message Reason: it has characters that SQS does not take; those are {}",
             allowed_characters);
}

bool check_subject(SnsMessage& m) {
  const auto printable = [](char c) { return c >= 0x20 && c <= 0x7E; };
  return (!m.subject.empty() && m.subject.size() <= subject_max && m.subject.front() != ' ' &&
          std::ranges::all_of(m.subject, printable)) ||
         m.refusal.parameter("Subject");
}

bool read_attribute(SnsMessage& m, const Form& form, std::string_view list, std::uint32_t n,
                    std::deque<std::string>& decoded, MessageAttribute& out) {
  AttributeInput given;
  if (const auto* name = form.find(list, n, "Name")) given.name = *name;
  if (const auto* type = form.find(list, n, "Value.DataType")) given.type = *type;
  if (const auto* text = form.find(list, n, "Value.StringValue")) given.text = *text;
  if (const auto* base64 = form.find(list, n, "Value.BinaryValue")) {
    if (!decode_base64(*base64, decoded.emplace_back())) {
      return m.refusal.parameter("{}.{}.Value.BinaryValue: must be base64", list, n);
    }
    given.bytes = decoded.back();
  }
  if (!given.type) {
    return refuse_request(
        m, F::validation_error,
        "1 validation error detected: Value null at '{}.{}.Value.DataType' failed "
        "to satisfy constraint: Member must not be null",
        list, n);
  }
  Refusal refusal;
  if (given.type->ends_with('.')) {
    refusal.text = fmt::format(
        "The message attribute '{}' has an invalid message attribute type, the set of supported "
        "type prefixes is Binary, Number, and String.",
        shown(given.name));
  }
  return (refusal.text.empty() && check_message_attribute(given, out, refusal)) ||
         refuse_request(m, F::parameter_value_invalid, "{}", refusal.text);
}

bool read_attributes(SnsMessage& m, const Form& form, const std::string& list) {
  std::vector<std::uint32_t> numbers;
  if (!form.indexes(list, numbers)) return m.refusal.parameter("MessageAttributes");
  std::deque<std::string> decoded;
  std::vector<MessageAttribute> attributes(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!read_attribute(m, form, list, numbers[i], decoded, attributes[i])) return false;
  }
  std::ranges::sort(attributes, {}, &MessageAttribute::name);
  const auto twin = std::ranges::adjacent_find(attributes, {}, &MessageAttribute::name);
  if (twin != attributes.end()) {
    return m.refusal.because(F::parameter_value_invalid,
                             "Message attribute name '{}' already exists.", shown(twin->name));
  }
  for (const MessageAttribute& a : attributes) append_attribute(m.attributes, a);
  m.attribute_count = attributes.size();
  return true;
}

bool check_ids(SnsState& s, SnsMessage& m) {
  const SnsTopic& topic = *s.topic;
  for (const auto& [name, id] :
       {std::pair("MessageGroupId", &m.group), std::pair("MessageDeduplicationId", &m.dedup_id)}) {
    if (!id->empty() && !good_message_id(*id)) {
      return m.refusal.parameter(
          "{} Reason: {} can only include alphanumeric and punctuation "
          "characters. 1 to 128 in length.",
          name, name);
    }
  }
  if (!topic.is_fifo()) {
    return m.dedup_id.empty() ||
           m.refusal.parameter(
               "MessageDeduplicationId Reason: The request includes "
               "MessageDeduplicationId parameter that is not valid for this topic "
               "type");
  }
  if (m.group.empty()) {
    return refuse_request(
        m, F::invalid_parameter,
        "Invalid parameter: The MessageGroupId parameter is required for FIFO topics");
  }
  if (!m.dedup_id.empty()) return true;
  if (!topic.content_based_deduplication()) {
    return refuse_request(m, F::invalid_parameter,
                          "Invalid parameter: The topic should either have "
                          "ContentBasedDeduplication enabled or MessageDeduplicationId provided "
                          "explicitly");
  }
  append_hex(m.dedup_id, sha256(m.text));
  return true;
}

// Names the topic too, because a standard queue may have several. No part has a line break.
std::string dedup_by(const SnsState& s, const SnsMessage& m) {
  const bool of_group = value_of(s.topic->attributes, "FifoThroughputScope") == "MessageGroup";
  return fmt::format("{}\n{}\n{}", raw(s.row->id), of_group ? m.group : std::string_view(),
                     m.dedup_id);
}

}  // namespace

void read_message(SnsState& s, const Form& form, const std::string& prefix, SnsMessage& m) {
  const auto text = [&](std::string_view name) {
    return text_of(form, prefix + std::string(name));
  };
  m.subject = text("Subject");
  m.group = text("MessageGroupId");
  m.dedup_id = text("MessageDeduplicationId");
  if (!check_text_of(m, text("Message"), text("MessageStructure")) ||
      (form.find(prefix + "Subject") != nullptr && !check_subject(m)) ||
      !read_attributes(m, form, prefix + "MessageAttributes.entry") || !check_ids(s, m)) {
    return;
  }
  if (s.topic->is_fifo()) {
    m.dedup_by = dedup_by(s, m);
  } else {
    m.message_id = new_uuid(s, static_cast<std::uint64_t>(&m - s.messages.data()));
  }
}

}  // namespace pawl::sns

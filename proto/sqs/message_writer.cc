// SPDX-License-Identifier: Apache-2.0
#include "proto/sqs/message_writer.h"

#include <charconv>
#include <iterator>

#include "core/base/check.h"
#include "core/queue/receipt.h"
#include "proto/aws/arn.h"
#include "proto/aws/message_rules.h"
#include "proto/aws/own_attributes.h"
#include "proto/text/base64.h"

namespace pawl {
namespace {

constexpr std::string_view system_names[] = {
    "SenderId",
    "SentTimestamp",
    "ApproximateReceiveCount",
    "ApproximateFirstReceiveTimestamp",
    "AWSTraceHeader",
    "MessageGroupId",
    "MessageDeduplicationId",
    "SequenceNumber",
    "DeadLetterQueueSourceArn",
    "x-dead-letter-reason",
    not_before_name,
    time_to_live_name,
    times_name,
};
// The order is that of system_names.
enum SystemName : unsigned {
  sender_id,
  sent_timestamp,
  receive_count,
  first_receive,
  trace_header,
  group_id,
  deduplication_id,
  sequence,
  source_arn,
  dead_letter_reason,  // pawl's own, as the following
  not_before,          // from here on not part of All
  time_to_live,
  times,
};
static_assert(all_system_names == (1u << not_before) - 1);
static_assert(times + 1 == std::size(system_names));

// By the number of a DeadLetterReason.
constexpr std::string_view dead_letter_reason_words[] = {"", "expired"};

std::string_view stored_system_value(const Content& content, SystemName name) {
  AttributeReader reader(content.system);
  for (MessageAttribute a; reader.next(a);) {
    if (a.name == system_names[name]) return a.value;
  }
  return {};
}

}  // namespace

std::uint32_t system_name_bit(std::string_view name) {
  for (unsigned i = 0; i < std::size(system_names); ++i) {
    if (system_names[i] == name) return 1u << i;
  }
  return 0;
}

void MessageWriter::write(const Delivery& delivery, const Md5& body_md5) {
  begin(delivery);
  result_.plain("ReceiptHandle", base64(delivery.handle));
  write_content(delivery, body_md5, {});
  end();
}

void MessageWriter::begin_peeked(const Delivery& delivery, const Md5& body_md5,
                                 std::span<const Pair> more) {
  begin(delivery);
  write_content(delivery, body_md5, more);
}

void MessageWriter::begin(const Delivery& delivery) {
  CHECK(scope_.settings.shift != nullptr && scope_.queue != QueueId::none, "a scope without queue");
  result_.begin_item("Message");
  const bool own = delivery.id == MessageId{};  // false: moved here from another queue
  const MessageId id =
      own ? message_id(scope_.settings.secret, scope_.queue, delivery.seq) : delivery.id;
  const std::array<char, 36> uuid = uuid_text(id);
  result_.plain("MessageId", {uuid.data(), uuid.size()});
}

void MessageWriter::write_content(const Delivery& delivery, const Md5& body_md5,
                                  std::span<const Pair> more) {
  const Content& content = delivery.content;
  result_.plain("MD5OfBody", hex(body_md5));
  result_.text("Body", content.body);
  if (scope_.system_names != 0) write_system(delivery, more);
  write_attributes(content.attributes);
}

void MessageWriter::write_system(const Delivery& delivery, std::span<const Pair> more) {
  bool any = false;
  const auto write_one = [&](std::string_view name, std::string_view value) {
    if (!any) result_.begin_map("Attributes");
    any = true;
    result_.pair("Attribute", name, value);
  };
  for (unsigned name = 0; name < std::size(system_names); ++name) {
    if ((scope_.system_names >> name & 1) == 0) continue;
    const std::string_view value = system_value(name, delivery);
    if (!value.empty()) write_one(system_names[name], value);
  }
  for (const auto& [name, value] : more) write_one(name, value);
  if (any) result_.end_map();
}

// The attribute's value; empty if the message does not have it.
std::string_view MessageWriter::system_value(unsigned name, const Delivery& delivery) {
  const Content& content = delivery.content;
  switch (static_cast<SystemName>(name)) {
    case sender_id:
      return content.sender.empty() ? scope_.account : content.sender;
    case sent_timestamp:
      return decimal(scope_.settings.shift->wall(delivery.sent).ms);
    case receive_count:
      return decimal(delivery.receive_count);
    case first_receive:
      return decimal(scope_.settings.shift->wall(delivery.first_received).ms);
    case trace_header:
      return stored_system_value(content, trace_header);
    case group_id:  // pawl 0.1 stored it with the trace header
      return content.group.empty() ? stored_system_value(content, group_id) : content.group;
    case deduplication_id:
      return content.dedup_id;
    case sequence:
      if (!scope_.fifo) return {};
      write_sequence_number(digits_, delivery.seq);
      return {digits_.data(), digits_.size()};
    case source_arn:
      return arn_of_origin(content.origin);
    case dead_letter_reason:
      CHECK(static_cast<std::size_t>(content.reason) < std::size(dead_letter_reason_words),
            "a dead letter of reason {}", static_cast<unsigned>(content.reason));
      return dead_letter_reason_words[static_cast<std::size_t>(content.reason)];
    case not_before:
    case time_to_live:
      return stored_system_value(content, static_cast<SystemName>(name));
    case times:
      return times_of(delivery);
  }
  return {};
}

// In milliseconds since 1970; a time that is not known is left out.
std::string_view MessageWriter::times_of(const Delivery& delivery) {
  scratch_ = "{";
  const auto add = [this](std::string_view name, Instant at) {
    if (at.ms == 0) return;
    if (scratch_.size() > 1) scratch_ += ',';
    scratch_ += '"';
    scratch_ += name;
    scratch_ += "\":";
    scratch_ += std::to_string(scope_.settings.shift->wall(at).ms);
  };
  add("accepted", delivery.sent);
  add("durable", delivery.durable);
  add("moved", delivery.moved);
  add("delivered", delivery.received);
  scratch_ += '}';
  return scratch_;
}

std::string_view MessageWriter::arn_of_origin(std::string_view origin) {
  if (origin.empty()) return {};
  const QueueName source = QueueName::from_text(origin);
  scratch_ = arn_of(scope_.settings.region, source.account, source.name);
  return scratch_;
}

void MessageWriter::write_attributes(std::string_view encoded) {
  constexpr std::string_view xml_name = "MessageAttribute";
  Md5 digest;
  if (encoded.empty() || !attributes_md5(encoded, scope_.attributes, digest)) return;
  result_.plain("MD5OfMessageAttributes", hex(digest));
  result_.begin_map("MessageAttributes");
  AttributeReader reader(encoded);
  for (MessageAttribute a; reader.next(a);) {
    if (!scope_.attributes.wants(a.name)) continue;
    result_.begin_pair(xml_name, a.name);
    if (a.kind == AttributeKind::bytes) {
      result_.plain("BinaryValue", base64({reinterpret_cast<const std::uint8_t*>(a.value.data()),
                                           a.value.size()}));
    } else {
      result_.text("StringValue", a.value);
    }
    result_.text("DataType", a.type);
    result_.end_pair(xml_name);
  }
  result_.end_map();
}

std::string_view MessageWriter::base64(std::span<const std::uint8_t> bytes) {
  scratch_.clear();
  append_base64(scratch_, bytes);
  return scratch_;
}

std::string_view MessageWriter::hex(const Md5& digest) {
  hex_ = hex_text(digest);
  return {hex_.data(), hex_.size()};
}

std::string_view MessageWriter::decimal(std::int64_t number) {
  const auto end = std::to_chars(digits_.data(), digits_.data() + digits_.size(), number).ptr;
  return {digits_.data(), end};
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <charconv>
#include <iterator>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "proto/aws/arn.h"
#include "proto/aws/notification.h"
#include "proto/sqs/actions.h"
#include "proto/text/base64.h"
#include "proto/text/md5_lanes.h"

namespace pawl::sqs {
namespace {

using F = SqsFault;
using M = SqsMember;
using Next = CallStep;

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
};
constexpr std::uint32_t all_names = (1u << std::size(system_names)) - 1;

std::uint32_t name_bit(std::string_view name) {
  for (unsigned i = 0; i < std::size(system_names); ++i) {
    if (system_names[i] == name) return 1u << i;
  }
  return 0;
}

enum class Unknown : bool { refused, ignored };

bool select_system_names(const std::vector<std::string_view>& names, Unknown unknown,
                         std::uint32_t& out, Refusal& refusal) {
  for (const std::string_view name : names) {
    const std::uint32_t selected = name == "All" ? all_names : name_bit(name);
    if (selected == 0 && unknown == Unknown::refused) {
      return refusal.because(F::invalid_attribute_name, "Unknown Attribute {}.", shown(name));
    }
    out |= selected;
  }
  return true;
}

bool check_range(const SqsScalar& given, std::string_view name, std::int64_t max,
                 Refusal& refusal) {
  if (!given.present || given.within(0, max)) return true;
  return refusal.because(F::invalid_parameter_value,
                         "Value {} for parameter {} is invalid. Reason: Must be >= 0 and <= {}, "
                         "if provided.",
                         shown(given.text), name, max);
}

// Standard queues ignore the attempt id, because some clients send it to them.
bool check_attempt(SqsState& s) {
  const SqsScalar& attempt = s.input[M::attempt_id];
  if (!s.fifo || !attempt.present) return true;
  s.request.receive.attempt = attempt.text;
  return good_message_id(attempt.text) ||
         s.refusal.because(F::invalid_parameter_value,
                           "Value {} for parameter ReceiveRequestAttemptId is invalid. Reason: "
                           "ReceiveRequestAttemptId can only include alphanumeric and punctuation "
                           "characters. 1 to 128 in length.",
                           shown(attempt.text));
}

bool check_parameters(SqsState& s) {
  const SqsScalar& max = s.input[M::max_messages];
  if (max.present && !max.within(1, sqs_entries_max)) {
    return s.refusal.because(F::invalid_parameter_value,
                             "Value {} for parameter MaxNumberOfMessages is invalid. Reason: Must "
                             "be between 1 and 10, if provided.",
                             shown(max.text));
  }
  return check_range(s.input.single()[M::visibility_timeout], "VisibilityTimeout", 43200,
                     s.refusal) &&
         check_range(s.input[M::wait_seconds], "WaitTimeSeconds", 20, s.refusal) &&
         check_attempt(s) &&
         select_system_names(s.input.attribute_names, Unknown::refused, s.system_names,
                             s.refusal) &&
         select_system_names(s.input.system_attribute_names, Unknown::ignored, s.system_names,
                             s.refusal);
}

using BodyDigests = std::array<Md5, sqs_entries_max>;

// The digests of the delivered bodies. Messages sent over HTTP have theirs; those of the binary
// protocol are hashed here.
BodyDigests body_digests(std::span<const Delivery> deliveries) {
  BodyDigests out, made;
  std::array<std::string_view, sqs_entries_max> bodies;
  std::array<std::size_t, sqs_entries_max> places;
  std::size_t count = 0;
  CHECK(deliveries.size() <= out.size(), "{} deliveries", deliveries.size());
  for (std::size_t i = 0; i < deliveries.size(); ++i) {
    const Content& content = deliveries[i].content;
    if (content.body_md5 != nullptr) {
      out[i] = *content.body_md5;
    } else {
      places[count] = i;
      bodies[count++] = content.body;
    }
  }
  md5_each(std::span(bodies).first(count), std::span(made).first(count));
  for (std::size_t i = 0; i < count; ++i) out[places[i]] = made[i];
  return out;
}

// Writes messages. Each text that a helper makes is valid only until the next one is made.
class MessageWriter {
 public:
  MessageWriter(SqsState& s, SqsResult& result) : s_(s), result_(result) {}

  void write(const Delivery& delivery, const Md5& body_md5) {
    result_.begin_item("Message");
    const bool own = delivery.id == MessageId{};  // false: moved here from another queue
    const MessageId id =
        own ? message_id(s_.config->secret, s_.request.queue, delivery.seq) : delivery.id;
    const std::array<char, 36> uuid = uuid_text(id);
    result_.plain("MessageId", {uuid.data(), uuid.size()});
    result_.plain("ReceiptHandle", base64(delivery.handle));
    const Content& content = delivery.content;
    result_.plain("MD5OfBody", hex(body_md5));
    result_.text("Body", content.body);
    if (s_.system_names != 0) write_system(delivery);
    write_attributes(content.attributes);
    result_.end_item("Message");
  }

 private:
  void write_system(const Delivery& delivery) {
    bool any = false;
    for (unsigned name = 0; name < std::size(system_names); ++name) {
      if ((s_.system_names >> name & 1) == 0) continue;
      const std::string_view value = system_value(static_cast<SystemName>(name), delivery);
      if (value.empty()) continue;
      if (!any) result_.begin_map("Attributes");
      any = true;
      result_.pair("Attribute", system_names[name], value);
    }
    if (any) result_.end_map();
  }

  // The attribute's value; empty if the message does not have it.
  std::string_view system_value(SystemName name, const Delivery& delivery) {
    const Content& content = delivery.content;
    switch (name) {
      case sender_id:
        return content.sender.empty() ? s_.queue_account : content.sender;
      case sent_timestamp:
        return decimal(s_.config->shift->wall(delivery.sent).ms);
      case receive_count:
        return decimal(delivery.receive_count);
      case first_receive:
        return decimal(s_.config->shift->wall(delivery.first_received).ms);
      case trace_header:
        return stored(content, name);
      case group_id:  // pawl 0.1 stored it with the trace header
        return content.group.empty() ? stored(content, name) : content.group;
      case deduplication_id:
        return content.dedup_id;
      case sequence:
        if (!s_.fifo) return {};
        write_sequence_number(digits_, delivery.seq);
        return {digits_.data(), digits_.size()};
      case source_arn:
        return arn_of_origin(content.origin);
    }
    return {};
  }

  static std::string_view stored(const Content& content, SystemName name) {
    AttributeReader reader(content.system);
    for (MessageAttribute a; reader.next(a);) {
      if (a.name == system_names[name]) return a.value;
    }
    return {};
  }

  std::string_view arn_of_origin(std::string_view origin) {
    if (origin.empty()) return {};
    const QueueName source = QueueName::from_text(origin);
    s_.scratch = arn_of(s_.config->region, source.account, source.name);
    return s_.scratch;
  }

  void write_attributes(std::string_view encoded) {
    constexpr std::string_view xml_name = "MessageAttribute";
    Md5 digest;
    if (encoded.empty() || !attributes_md5(encoded, s_.attribute_names, digest)) return;
    result_.plain("MD5OfMessageAttributes", hex(digest));
    result_.begin_map("MessageAttributes");
    AttributeReader reader(encoded);
    for (MessageAttribute a; reader.next(a);) {
      if (!s_.attribute_names.wants(a.name)) continue;
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

  std::string_view base64(std::span<const std::uint8_t> bytes) {
    s_.scratch.clear();
    append_base64(s_.scratch, bytes);
    return s_.scratch;
  }
  std::string_view hex(const Md5& digest) {
    hex_ = hex_text(digest);
    return {hex_.data(), hex_.size()};
  }
  std::string_view decimal(std::int64_t number) {
    const auto end = std::to_chars(digits_.data(), digits_.data() + digits_.size(), number).ptr;
    return {digits_.data(), end};
  }

  SqsState& s_;
  SqsResult& result_;
  std::array<char, 20> digits_{};
  Md5Text hex_{};
};

}  // namespace

Next receive_message(SqsState& s) {
  s.system_names = 0;
  if (!check_parameters(s)) return Next::respond;
  s.attribute_names = AttributeFilter(s.input.message_attribute_names);
  const SqsScalar& max = s.input[M::max_messages];
  const SqsScalar& visibility = s.input.single()[M::visibility_timeout];
  const SqsScalar& wait = s.input[M::wait_seconds];
  s.request.receive.max = max.present ? static_cast<std::uint32_t>(max.number) : 1;
  if (visibility.present) s.request.receive.visibility = seconds(visibility.number);
  if (wait.present) s.request.receive.wait = seconds(wait.number);
  s.deliveries.resize(s.request.receive.max);
  s.request.deliveries = s.deliveries;
  s.request.receive.bytes_max = receive_bytes_max;
  return s.route(Op::receive, s.queue->owner);
}

Next undeliver_rest(SqsState& s) {
  if (s.request.op == Op::undeliver)
    return Next::respond;  // messages not returned become visible after their timeout
  CHECK(s.request.unfetched <= s.request.delivered, "{} of {} are not fetched", s.request.unfetched,
        s.request.delivered);
  CHECK(s.request.delivered <= s.request.deliveries.size(), "{} of {} deliveries",
        s.request.delivered, s.request.deliveries.size());
  const std::uint32_t fetched = s.request.delivered - s.request.unfetched;
  put_in_envelopes(s.request.deliveries.first(fetched), s.envelopes);
  std::uint64_t bytes = 0;
  s.answered = 0;
  while (s.answered < fetched) {
    const Content& content = s.request.deliveries[s.answered].content;
    bytes += content.body.size() + content.attributes.size() + content.system.size();
    if (s.answered > 0 && bytes > receive_bytes_max) break;
    ++s.answered;
  }
  if (s.answered == s.request.delivered) return Next::respond;
  write_result(s, s.result);
  s.receipts.clear();
  for (const Delivery& d : s.request.deliveries.first(s.request.delivered).subspan(s.answered))
    s.receipts.push_back({.handle = d.handle});
  s.request.receipts = s.receipts;
  s.request.deliveries = {};
  s.request.delivered = 0;
  return s.route(Op::undeliver, s.routed.target);
}

void receive_message_result(SqsState& s, SqsResult& result) {
  if (s.answered == 0) return;
  MessageWriter writer(s, result);
  const auto deliveries = s.request.deliveries.first(s.answered);
  const BodyDigests digests = body_digests(deliveries);
  result.begin_list("Messages");
  for (std::size_t i = 0; i < deliveries.size(); ++i) writer.write(deliveries[i], digests[i]);
  result.end_list();
}

}  // namespace pawl::sqs

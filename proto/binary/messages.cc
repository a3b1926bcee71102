// SPDX-License-Identifier: Apache-2.0
#include "proto/binary/messages.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "core/base/check.h"
#include "proto/aws/message_attributes.h"
#include "proto/aws/message_rules.h"
#include "proto/aws/notification.h"
#include "proto/text/digest.h"
#include "proto/text/text.h"

namespace pawl::binary {
namespace {

constexpr std::uint32_t delay_ms_max = 900'000;
constexpr std::uint32_t wait_ms_max = 20'000;

// True for the only system attribute that a sender may set.
bool is_trace_header(std::string_view encoded) {
  MessageAttribute attribute;
  AttributeReader reader(encoded);
  return reader.next(attribute) && reader.at_end() && attribute.name == "AWSTraceHeader" &&
         attribute.type == "String" && encoded.size() <= trace_header_max &&
         check_attribute(attribute) == AttributeFault::none;
}

// Checks group and deduplication id. In a FIFO queue only the queue sets the delay.
bool names_fit(const Content& content, std::uint32_t delay_ms, const QueueConfig& queue) {
  if (!content.group.empty() && !good_message_id(content.group)) return false;
  if (!queue.is_fifo()) return content.dedup_id.empty();
  return !content.group.empty() && good_message_id(content.dedup_id) &&
         (delay_ms == 0 || delay_ms == binary_queue_default);
}

// Checks one message by SQS's rules.
Status check(const SendEntry& entry, std::uint32_t delay_ms, const QueueConfig& queue) {
  const Content& content = entry.content;
  const std::int64_t size_max = queue.number(Attribute::maximum_message_size);
  if (!names_fit(content, delay_ms, queue)) return Status::invalid;
  if (content.body.empty() || !in_range(delay_ms, delay_ms_max)) return Status::invalid;
  if (!content.attributes.empty() && check_attributes(content.attributes) != Errc::ok)
    return Status::bad_attributes;
  if (!content.system.empty() && !is_trace_header(content.system)) return Status::bad_attributes;
  const std::size_t size = content.body.size() + attributes_size(content.attributes);
  if (size > static_cast<std::size_t>(size_max)) return Status::too_large;
  if (check_text(content.body) != TextFault::none) return Status::bad_text;
  return Status::ok;
}

// The head of SEND_ONCE.
struct ProducerHead {
  ProducerParams producer;
  std::uint64_t first = 0;  // sequence of the first message
  bool good() const {
    return producer.id != 0 && first != 0 && first <= UINT64_MAX - entries_max &&
           producer.floor <= first;
  }
};

ProducerHead take_producer(BinaryReader& in) {
  ProducerHead head;
  head.producer.id = in.take<std::uint64_t>();
  head.first = in.take<std::uint64_t>();
  head.producer.floor = in.take<std::uint64_t>();
  return head;
}

// Bytes of a message in a response.
std::size_t delivery_bytes(const Content& content) {
  constexpr std::size_t fixed = receipt_bytes + 16 + 8 + 8 + 8 + 4 + 4;
  const std::size_t names = content.group.size() + content.dedup_id.size() + content.origin.size();
  const std::size_t lengths = (content.attributes.empty() ? 0 : 4) +
                              (content.system.empty() ? 0 : 4) + (names == 0 ? 0 : 4);
  return fixed + lengths + content.body.size() + content.attributes.size() + content.system.size() +
         names;
}

// Lengths of the texts for clients with feature_groups; the log keeps each below 256 bytes.
std::uint32_t names_word(const Content& content) {
  return static_cast<std::uint32_t>(content.group.size() | content.dedup_id.size() << 8 |
                                    content.origin.size() << 16);
}

}  // namespace

BinaryNext send(BinaryCallState& s, const BinaryArguments& call) {
  BinaryReader& in = call.in;
  const QueueConfig& queue = *call.opened;
  const bool once = s.header.op == static_cast<std::uint8_t>(BinaryOp::send_once);
  const ProducerHead numbers = once ? take_producer(in) : ProducerHead{};
  const auto count = in.take<std::uint32_t>();
  if (count < 1 || count > entries_max)
    return s.refuse(in.ok() ? Status::invalid : Status::bad_frame);
  const bool by_content = queue.number(Attribute::content_based_deduplication) == 1;
  s.sends.clear();
  s.digests.clear();
  if (by_content) s.digests.reserve(count);  // entries point to them
  s.prechecks.clear();
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto head = in.take<std::uint32_t>();
    if ((head & ~entry_bits_known) != 0) return s.refuse(Status::bad_frame, i);
    const std::uint32_t attributes = head & entry_has_attributes ? in.take<std::uint32_t>() : 0;
    const std::uint32_t system = head & entry_has_system ? in.take<std::uint32_t>() : 0;
    const std::uint32_t delay_ms =
        head & entry_has_delay ? in.take<std::uint32_t>() : binary_queue_default;
    const std::uint32_t names = head & entry_has_names ? in.take<std::uint32_t>() : 0;
    if (names > 0xFFFF) return s.refuse(Status::bad_frame, i);  // a sender cannot set the origin
    SendEntry entry;
    entry.content.body = in.take_bytes(head & entry_body_mask);
    entry.content.attributes = in.take_bytes(attributes);
    entry.content.system = in.take_bytes(system);
    entry.content.group = in.take_bytes(names & 0xFF);
    entry.content.dedup_id = in.take_bytes(names >> 8);
    if (!in.ok()) return s.refuse(Status::bad_frame, i);
    entry.delay = duration(delay_ms);
    entry.sequence = numbers.first + i;
    if (entry.content.dedup_id.empty() && by_content) {
      std::string& digest = s.digests.emplace_back();
      append_hex(digest, sha256(entry.content.body));
      entry.content.dedup_id = digest;
    }
    s.prechecks.push_back(check(entry, delay_ms, queue));
    if (s.prechecks.back() == Status::ok) s.sends.push_back(entry);
  }
  if (!in.finished()) return s.refuse(Status::bad_frame);
  // A FIFO queue has its own deduplication, by the id of each message.
  if (once && queue.is_fifo()) return s.refuse(Status::not_supported);
  if (once && !numbers.good()) return s.refuse(Status::invalid);
  if (s.sends.empty()) return BinaryNext::respond;
  s.request.producer = numbers.producer;
  s.request.sends = s.sends;
  return s.route(Op::send, queue.owner);
}

// Ids are the 16 bytes of the UUID that SQS clients receive.
void write_sent(const BinaryCallState& s, std::string& out) {
  put(out, static_cast<std::uint32_t>(s.prechecks.size()));
  std::size_t next = 0;
  for (const Status precheck : s.prechecks) {
    Status status = precheck;
    Seq seq = 0;
    MessageId id;
    if (status == Status::ok) {
      CHECK(next < s.sends.size(), "{} sends", next);
      const SendEntry& entry = s.sends[next++];
      status = status_of(entry.error);
      if (status == Status::ok) {
        seq = entry.seq;
        if (seq != 0) id = message_id(s.config->secret, s.request.queue, seq);
      }
    }
    put_all(out, static_cast<std::uint16_t>(status), seq, std::byteswap(id.high),
            std::byteswap(id.low));
  }
  CHECK(next == s.sends.size(), "{} of {} sends are answered", next, s.sends.size());
}

BinaryNext receive(BinaryCallState& s, const BinaryArguments& call) {
  BinaryReader& in = call.in;
  const QueueConfig& queue = *call.opened;
  const auto max = in.take<std::uint32_t>();
  const auto wait_ms = in.take<std::uint32_t>();
  const auto visibility_ms = in.take<std::uint32_t>();
  const auto bytes_max = in.take<std::uint32_t>();
  const std::string_view attempt = s.groups ? in.take_short() : std::string_view();
  if (!in.finished()) return s.refuse(Status::bad_frame);
  const bool fits = max >= 1 && max <= entries_max && in_range(wait_ms, wait_ms_max) &&
                    in_range(visibility_ms, visibility_ms_max) &&
                    (attempt.empty() || good_message_id(attempt));
  if (!fits) return s.refuse(Status::invalid);
  const Duration wait = duration(wait_ms);
  const bool waits_for_many =
      max > waiting_max && (wait == queue_default ? queue.wait() : wait) > Duration{0};
  // A RECEIVE with an attempt id is issued once: a second would return the first one's result.
  const bool looks_first = waits_for_many && attempt.empty();
  const std::uint32_t capacity = waits_for_many && !looks_first ? waiting_max : max;
  if (looks_first) s.wait_later = wait;
  return route_receive(s, call.session,
                       {.max = capacity,
                        .visibility = duration(visibility_ms),
                        .wait = looks_first ? Duration{0} : wait,
                        .attempt = queue.is_fifo() ? attempt : std::string_view(),
                        .bytes_max = bytes_max},
                       queue.owner);
}

BinaryNext route_receive(BinaryCallState& s, const BinarySessionState& session,
                         const ReceiveParams& params, ShardId owner) {
  const std::size_t left = BinarySettings::receive_bytes_promised -
                           std::min(session.promised, BinarySettings::receive_bytes_promised);
  const auto fair = static_cast<std::uint32_t>(left / 4);
  s.receive_bytes_max =
      std::min(s.config->receive_bytes_max, std::max(fair, BinarySettings::receive_bytes_min));
  if (params.bytes_max != 0)
    s.receive_bytes_max =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(s.receive_bytes_max, params.bytes_max));
  // The array only grows: the owner overwrites each delivery it fills.
  if (s.deliveries.size() < params.max) s.deliveries.resize(params.max);
  s.request.deliveries = std::span(s.deliveries).first(params.max);
  s.request.receive = params;
  s.request.receive.bytes_max = s.receive_bytes_max;
  return s.route(Op::receive, owner);
}

BinaryNext wait_for_some(BinaryCallState& s) {
  std::vector<Delivery>(waiting_max).swap(s.deliveries);
  s.request.deliveries = s.deliveries;
  s.request.receive.max = waiting_max;
  s.request.receive.wait = std::exchange(s.wait_later, Duration{0});
  return s.route(Op::receive, s.target);
}

// Messages that do not fit into the response return to the queue, as if never delivered.
BinaryNext receive_result(BinaryCallState& s, BinarySessionState&, const Directory&) {
  const bool nothing = s.request.delivered + s.request.unreadable == 0;
  if (nothing && s.wait_later != Duration{0}) return wait_for_some(s);
  CHECK(s.request.unfetched <= s.request.delivered, "{} of {} are not fetched", s.request.unfetched,
        s.request.delivered);
  const std::uint32_t fetched = s.request.delivered - s.request.unfetched;
  s.envelopes.clear();
  put_in_envelopes(s.request.deliveries.first(fetched), s.envelopes);
  const std::size_t bytes_max = std::min<std::size_t>(s.receive_bytes_max, s.answer_bytes_max);
  std::size_t bytes = 0;
  for (s.fit = 0; s.fit < fetched; ++s.fit) {
    bytes += delivery_bytes(s.deliveries[s.fit].content);
    if ((s.fit > 0 || bytes_max == 0) && bytes > bytes_max) break;
  }
  if (s.subscription != nullptr) s.subscription->delivered(s.fit);
  if (s.fit == s.request.delivered) return delivered(s);

  write_deliveries(s, s.answer);
  s.receipts.clear();
  for (std::uint32_t i = s.fit; i < s.request.delivered; ++i) {
    ReceiptEntry entry;
    entry.handle = s.deliveries[i].handle;
    s.receipts.push_back(entry);
  }
  s.request.receipts = s.receipts;
  s.request.deliveries = {};
  s.request.delivered = 0;
  s.undelivering = true;
  return s.route(Op::undeliver, s.target);
}

BinaryNext delivered(BinaryCallState& s) {
  if (s.subscription == nullptr) return BinaryNext::respond;
  if (s.fit > 0) return BinaryNext::deliver;
  s.trim();
  return BinaryNext::pause;
}

void write_deliveries(const BinaryCallState& s, std::string& out) {
  CHECK(s.fit <= s.deliveries.size(), "{} of {} deliveries", s.fit, s.deliveries.size());
  put(out, s.fit);
  for (std::uint32_t i = 0; i < s.fit; ++i) {
    const Delivery& delivery = s.deliveries[i];
    const Content& content = delivery.content;
    out.append(reinterpret_cast<const char*>(delivery.handle.data()), receipt_bytes);
    const MessageId id = delivery.id != MessageId{}
                             ? delivery.id
                             : message_id(s.config->secret, s.request.queue, delivery.seq);
    const auto body = static_cast<std::uint32_t>(content.body.size());
    CHECK(body <= entry_body_mask, "{}", body);
    const std::uint32_t names = s.groups ? names_word(content) : 0;
    const std::uint32_t head = body | (content.attributes.empty() ? 0 : entry_has_attributes) |
                               (content.system.empty() ? 0 : entry_has_system) |
                               (names == 0 ? 0 : entry_has_names);
    put_all(out, std::byteswap(id.high), std::byteswap(id.low), delivery.seq,
            s.config->shift->wall(delivery.sent).ms,
            s.config->shift->wall(delivery.first_received).ms, delivery.receive_count, head);
    if (!content.attributes.empty())
      put(out, static_cast<std::uint32_t>(content.attributes.size()));
    if (!content.system.empty()) put(out, static_cast<std::uint32_t>(content.system.size()));
    if (names != 0) put(out, names);
    out.append(content.body);
    out.append(content.attributes);
    out.append(content.system);
    if (names != 0) out.append(content.group).append(content.dedup_id).append(content.origin);
  }
}

BinaryNext use_receipts(BinaryCallState& s, const BinaryArguments& call) {
  BinaryReader& in = call.in;
  const bool change = s.header.op == static_cast<std::uint8_t>(BinaryOp::change);
  const bool grants = s.header.op == static_cast<std::uint8_t>(BinaryOp::acknowledge);
  const auto subscription = grants ? in.take<std::uint32_t>() : 0;
  const auto credit = grants ? in.take<std::uint32_t>() : 0;
  const auto count = in.take<std::uint32_t>();
  if ((count < 1 && !grants) || count > entries_max)
    return s.refuse(in.ok() ? Status::invalid : Status::bad_frame);
  s.receipts.clear();
  for (std::uint32_t i = 0; i < count; ++i) {
    ReceiptEntry entry;
    const std::string_view handle = in.take_bytes(receipt_bytes);
    if (!in.ok()) return s.refuse(Status::bad_frame);
    std::memcpy(entry.handle.data(), handle.data(), receipt_bytes);
    if (change) {
      const auto visibility_ms = in.take<std::uint32_t>();
      if (visibility_ms > visibility_ms_max) entry.error = Errc::invalid;
      entry.visibility = milliseconds(visibility_ms);
    }
    s.receipts.push_back(entry);
  }
  if (!in.finished()) return s.refuse(Status::bad_frame);
  if (grants && !call.session.subscriptions.grant(subscription, credit))
    return s.refuse(Status::invalid);
  if (s.receipts.empty()) return BinaryNext::respond;
  s.request.receipts = s.receipts;
  return s.route(change ? Op::change_visibility : Op::delete_message, call.opened->owner);
}

void write_receipts(const BinaryCallState& s, std::string& out) {
  put(out, static_cast<std::uint32_t>(s.request.receipts.size()));
  for (const ReceiptEntry& entry : s.request.receipts)
    put(out, static_cast<std::uint16_t>(status_of(entry.error)));
}

}  // namespace pawl::binary

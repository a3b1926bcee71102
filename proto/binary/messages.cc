// SPDX-License-Identifier: Apache-2.0
#include "proto/binary/messages.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/check.h"
#include "proto/aws/message_attributes.h"
#include "proto/aws/message_rules.h"
#include "proto/aws/notification.h"
#include "proto/aws/own_attributes.h"
#include "proto/text/digest.h"
#include "proto/text/text.h"

namespace pawl::binary {
namespace {

constexpr std::uint32_t wait_ms_max = 20'000;

// Checks the system attributes, and reads those that ask for something: AWSTraceHeader and pawl's
// own are all that a sender may set.
bool read_system_attributes(std::string_view encoded, std::optional<OwnAttributes>& own) {
  if (encoded.size() > trace_header_max || check_attributes(encoded) != Errc::ok) return false;
  AttributeReader reader(encoded);
  Refusal unused;
  for (MessageAttribute attribute; reader.next(attribute);) {
    const bool trace = attribute.name == trace_header_name && attribute.type == "String";
    if (!trace &&
        (!is_own_attribute(attribute.name) || !read_own_attribute(attribute, own, unused)))
      return false;
  }
  return true;
}

// Reads pawl's own attributes among those of the message; all others are the sender's.
bool read_own_among(std::string_view encoded, std::optional<OwnAttributes>& own) {
  AttributeReader reader(encoded);
  Refusal unused;
  for (MessageAttribute attribute; reader.next(attribute);)
    if (is_own_attribute(attribute.name) && !read_own_attribute(attribute, own, unused))
      return false;
  return true;
}

// Checks group and deduplication id.
bool names_fit(const Content& content, const QueueConfig& queue) {
  if (!content.group.empty() && !good_message_id(content.group)) return false;
  if (!queue.is_fifo()) return content.dedup_id.empty();
  return !content.group.empty() && good_message_id(content.dedup_id);
}

// Reads the message's own delay. In a FIFO queue without x-max-delay only the queue sets it.
bool read_delay(const BinaryCallState& s, const BinaryArguments& call, std::uint32_t delay_ms,
                const std::optional<OwnAttributes>& own, Duration& out) {
  const QueueConfig& queue = *call.opened;
  const bool sets_own = !queue.is_fifo() || queue.ages_from_delivery();
  if (!in_range(delay_ms, delay_ms_max(queue))) return false;
  if (!sets_own && delay_ms != 0 && delay_ms != binary_queue_default) return false;
  out = sets_own ? duration(delay_ms) : queue_default;
  if (!own || !own->not_before) return true;
  Refusal unused;
  Duration delay;
  if (delay_ms != 0 && delay_ms != binary_queue_default) return false;
  if (!delay_until(*own->not_before, s.config->shift->wall(call.session.now), queue, delay, unused))
    return false;
  if (sets_own) out = delay;
  return true;
}

// Checks one message by SQS's rules, and sets its delay and its time to live.
Status check(const BinaryCallState& s, const BinaryArguments& call, std::uint32_t delay_ms,
             SendEntry& entry) {
  const QueueConfig& queue = *call.opened;
  const Content& content = entry.content;
  const std::int64_t size_max = queue.number(Attribute::maximum_message_size);
  std::optional<OwnAttributes> own;
  if (!names_fit(content, queue) || content.body.empty()) return Status::invalid;
  if (!content.attributes.empty() && check_attributes(content.attributes) != Errc::ok)
    return Status::bad_attributes;
  if (!content.system.empty() && !read_system_attributes(content.system, own))
    return Status::bad_attributes;
  if (queue.takes_own_among_attributes() && !read_own_among(content.attributes, own))
    return Status::bad_attributes;
  if (!read_delay(s, call, delay_ms, own, entry.delay)) return Status::invalid;
  if (own && own->time_to_live) entry.time_to_live = *own->time_to_live;
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
  const auto [id, first, floor] = take_struct<payload::Producer>(in);
  head.producer.id = id;
  head.first = first;
  head.producer.floor = floor;
  return head;
}

// The texts of a message in a response.
payload::MessageTexts texts_of(const BinaryCallState& s, const Content& content) {
  payload::MessageTexts texts{
      .body = content.body, .attributes = content.attributes, .system = content.system};
  if (s.groups) {
    texts.group = content.group;
    texts.dedup_id = content.dedup_id;
    texts.origin = content.origin;
    if (s.reasons) texts.reason = static_cast<std::uint8_t>(content.reason);
  }
  return texts;
}

// Bytes of a message in a response.
std::size_t delivery_bytes(const Content& content) {
  const std::size_t names = content.group.size() + content.dedup_id.size() + content.origin.size();
  const std::size_t lengths = (content.attributes.empty() ? 0 : 4) +
                              (content.system.empty() ? 0 : 4) + (names == 0 ? 0 : 4);
  return struct_bytes<payload::Delivery> + lengths + content.body.size() +
         content.attributes.size() + content.system.size() + names;
}

}  // namespace

BinaryNext send(BinaryCallState& s, const BinaryArguments& call) {
  BinaryReader& in = call.in;
  const QueueConfig& queue = *call.opened;
  const bool once = s.header.op == static_cast<std::uint8_t>(BinaryOp::send_once);
  const ProducerHead numbers = once ? take_producer(in) : ProducerHead{};
  const std::uint32_t count = take_count<payload::MessageWords>(in);
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
    const payload::MessageWords words = payload::take_lengths(in, head);
    if (words.names > 0xFFFF)
      return s.refuse(Status::bad_frame, i);  // a sender cannot set the origin
    SendEntry& entry = s.sends.emplace_back();
    const payload::MessageTexts texts = payload::take_texts(in, words);
    entry.content.body = texts.body;
    entry.content.attributes = texts.attributes;
    entry.content.system = texts.system;
    entry.content.group = texts.group;
    entry.content.dedup_id = texts.dedup_id;
    if (!in.ok()) return s.refuse(Status::bad_frame, i);
    entry.sequence = numbers.first + i;
    if (entry.content.dedup_id.empty() && by_content) {
      std::string& digest = s.digests.emplace_back();
      append_hex(digest, sha256(entry.content.body));
      entry.content.dedup_id = digest;
    }
    s.prechecks.push_back(check(s, call, words.delay_ms, entry));
    if (s.prechecks.back() != Status::ok) s.sends.pop_back();
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

void write_sent(const BinaryCallState& s, std::string& out) {
  put_count<payload::Sent>(out, s.prechecks.size());
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
    put_struct(out, payload::Sent{static_cast<std::uint16_t>(status), seq, bytes_of(id)});
  }
  CHECK(next == s.sends.size(), "{} of {} sends are answered", next, s.sends.size());
}

BinaryNext receive(BinaryCallState& s, const BinaryArguments& call) {
  BinaryReader& in = call.in;
  const QueueConfig& queue = *call.opened;
  const auto [max, wait_ms, visibility_ms, bytes_max] = take_struct<payload::Receive>(in);
  const std::string_view attempt =
      s.groups ? take_struct<payload::Attempt>(in).id : std::string_view();
  if (!in.finished()) return s.refuse(Status::bad_frame);
  const bool fits = max >= 1 && max <= entries_max && in_range(wait_ms, wait_ms_max) &&
                    in_range(visibility_ms, visibility_ms_max(queue)) &&
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
  put_count<payload::Delivery>(out, s.fit);
  for (std::uint32_t i = 0; i < s.fit; ++i) {
    const Delivery& delivery = s.deliveries[i];
    const Content& content = delivery.content;
    const MessageId id = delivery.id != MessageId{}
                             ? delivery.id
                             : message_id(s.config->secret, s.request.queue, delivery.seq);
    CHECK(content.body.size() <= entry_body_mask, "{}", content.body.size());
    const payload::MessageTexts texts = texts_of(s, content);
    const auto words =
        payload::MessageWords::of(texts, binary_queue_default, texts.attributes.size());
    put_struct(
        out, payload::Delivery{.receipt = delivery.handle,
                               .id = bytes_of(id),
                               .sequence = delivery.seq,
                               .sent = s.config->shift->wall(delivery.sent).ms,
                               .first_received = s.config->shift->wall(delivery.first_received).ms,
                               .receive_count = delivery.receive_count,
                               .head = words.head});
    payload::put_lengths(out, words);
    payload::put_texts(out, words, texts, [&] { out.append(texts.attributes); });
  }
}

BinaryNext use_receipts(BinaryCallState& s, const BinaryArguments& call) {
  BinaryReader& in = call.in;
  const bool returns = s.header.op == static_cast<std::uint8_t>(BinaryOp::return_uncounted);
  const bool change = returns || s.header.op == static_cast<std::uint8_t>(BinaryOp::change);
  const bool grants = s.header.op == static_cast<std::uint8_t>(BinaryOp::acknowledge);
  const auto [subscription, credit] = grants ? take_struct<payload::Grant>(in) : payload::Grant{};
  const std::uint32_t count = take_count<payload::Deletion>(in);
  if ((count < 1 && !grants) || count > entries_max)
    return s.refuse(in.ok() ? Status::invalid : Status::bad_frame);
  s.receipts.clear();
  for (std::uint32_t i = 0; i < count; ++i) {
    ReceiptEntry& entry = s.receipts.emplace_back();
    if (change) {
      const auto [receipt, visibility_ms] = take_struct<payload::Change>(in);
      entry.handle = receipt;
      entry.uncounted = returns;
      if (visibility_ms > visibility_ms_max(*call.opened)) entry.error = Errc::invalid;
      entry.visibility = milliseconds(visibility_ms);
    } else {
      entry.handle = take_struct<payload::Deletion>(in).receipt;
    }
    if (!in.ok()) return s.refuse(Status::bad_frame);
  }
  if (!in.finished()) return s.refuse(Status::bad_frame);
  if (grants && !call.session.subscriptions.grant(subscription, credit))
    return s.refuse(Status::invalid);
  if (s.receipts.empty()) return BinaryNext::respond;
  s.request.receipts = s.receipts;
  return s.route(change ? Op::change_visibility : Op::delete_message, call.opened->owner);
}

void write_receipts(const BinaryCallState& s, std::string& out) {
  put_count<payload::EntryStatus>(out, s.request.receipts.size());
  for (const ReceiptEntry& entry : s.request.receipts)
    put_struct(out, payload::EntryStatus{static_cast<std::uint16_t>(status_of(entry.error))});
}

}  // namespace pawl::binary

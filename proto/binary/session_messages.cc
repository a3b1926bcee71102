// SPDX-License-Identifier: Apache-2.0
// SEND, SEND_ONCE, RECEIVE, SUBSCRIBE, DELETE_MESSAGE and CHANGE: reads a batch and checks each
// entry.
#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/check.h"
#include "proto/aws/message_attributes.h"
#include "proto/aws/message_rules.h"
#include "proto/binary/session.h"
#include "proto/text/digest.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

constexpr std::uint32_t delay_ms_max = 900'000;
constexpr std::uint32_t visibility_ms_max = 43'200'000;
constexpr std::uint32_t wait_ms_max = 20'000;
// A subscription receives anew when a wait ends without a message.
constexpr Duration subscription_wait = seconds(3600);

bool in_range(std::uint32_t ms, std::uint32_t max) {
  return ms == binary_queue_default || ms <= max;
}

Duration duration(std::uint32_t ms) {
  return ms == binary_queue_default ? queue_default : milliseconds(ms);
}

// Whether received messages are hidden with this visibility timeout.
bool hides(Duration visibility, const QueueConfig& queue) {
  return (visibility == queue_default ? queue.visibility() : visibility) > Duration{0};
}

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

}  // namespace

BinaryCall::Next BinaryCall::send(const Context& call) {
  BinaryReader& in = call.in;
  const QueueConfig& queue = call.queue();
  const bool once = header_.op == static_cast<std::uint8_t>(BinaryOp::send_once);
  const ProducerHead numbers = once ? take_producer(in) : ProducerHead{};
  const auto count = in.take<std::uint32_t>();
  if (count < 1 || count > entries_max)
    return refuse(in.ok() ? Status::invalid : Status::bad_frame);
  const bool by_content = queue.number(Attribute::content_based_deduplication) == 1;
  sends_.clear();
  digests_.clear();
  if (by_content) digests_.reserve(count);  // entries point to them
  prechecks_.clear();
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto head = in.take<std::uint32_t>();
    if ((head & ~entry_bits_known) != 0) return refuse(Status::bad_frame, i);
    const std::uint32_t attributes = head & entry_has_attributes ? in.take<std::uint32_t>() : 0;
    const std::uint32_t system = head & entry_has_system ? in.take<std::uint32_t>() : 0;
    const std::uint32_t delay_ms =
        head & entry_has_delay ? in.take<std::uint32_t>() : binary_queue_default;
    const std::uint32_t names = head & entry_has_names ? in.take<std::uint32_t>() : 0;
    if (names > 0xFFFF) return refuse(Status::bad_frame, i);  // a sender cannot set the origin
    SendEntry entry;
    entry.content.body = in.take_bytes(head & entry_body_mask);
    entry.content.attributes = in.take_bytes(attributes);
    entry.content.system = in.take_bytes(system);
    entry.content.group = in.take_bytes(names & 0xFF);
    entry.content.dedup_id = in.take_bytes(names >> 8);
    if (!in.ok()) return refuse(Status::bad_frame, i);
    entry.delay = duration(delay_ms);
    entry.sequence = numbers.first + i;
    if (entry.content.dedup_id.empty() && by_content) {
      std::string& digest = digests_.emplace_back();
      append_hex(digest, sha256(entry.content.body));
      entry.content.dedup_id = digest;
    }
    prechecks_.push_back(check(entry, delay_ms, queue));
    if (prechecks_.back() == Status::ok) sends_.push_back(entry);
  }
  if (!in.finished()) return refuse(Status::bad_frame);
  // A FIFO queue has its own deduplication, by the id of each message.
  if (once && queue.is_fifo()) return refuse(Status::not_supported);
  if (once && !numbers.good()) return refuse(Status::invalid);
  if (sends_.empty()) return Next::respond;
  request_.producer = numbers.producer;
  request_.sends = sends_;
  return route(Op::send, queue.owner);
}

BinaryCall::Next BinaryCall::receive(const Context& call) {
  BinaryReader& in = call.in;
  const QueueConfig& queue = call.queue();
  const auto max = in.take<std::uint32_t>();
  const auto wait_ms = in.take<std::uint32_t>();
  const auto visibility_ms = in.take<std::uint32_t>();
  const auto bytes_max = in.take<std::uint32_t>();
  const std::string_view attempt = groups_ ? in.take_short() : std::string_view();
  if (!in.finished()) return refuse(Status::bad_frame);
  const bool fits = max >= 1 && max <= entries_max && in_range(wait_ms, wait_ms_max) &&
                    in_range(visibility_ms, visibility_ms_max) &&
                    (attempt.empty() || good_message_id(attempt));
  if (!fits) return refuse(Status::invalid);
  const Duration wait = duration(wait_ms);
  const bool waits_for_many =
      max > waiting_max && (wait == queue_default ? queue.wait() : wait) > Duration{0};
  // A RECEIVE with an attempt id is issued once: a second would return the first one's result.
  const bool looks_first = waits_for_many && attempt.empty();
  const std::uint32_t capacity = waits_for_many && !looks_first ? waiting_max : max;
  if (looks_first) wait_later_ = wait;
  return route_receive(call.session,
                       {.max = capacity,
                        .visibility = duration(visibility_ms),
                        .wait = looks_first ? Duration{0} : wait,
                        .attempt = queue.is_fifo() ? attempt : std::string_view(),
                        .bytes_max = bytes_max},
                       queue.owner);
}

// `params`: with `bytes_max` as the client wants it; 0: the server's limit. The receive gets a
// share of the bytes that all receives of the connection may return.
BinaryCall::Next BinaryCall::route_receive(const BinarySession& session,
                                           const ReceiveParams& params, ShardId owner) {
  const std::size_t left = BinarySettings::receive_bytes_promised -
                           std::min(session.promised_, BinarySettings::receive_bytes_promised);
  const auto fair = static_cast<std::uint32_t>(left / 4);
  receive_bytes_max_ =
      std::min(config_->receive_bytes_max, std::max(fair, BinarySettings::receive_bytes_min));
  if (params.bytes_max != 0)
    receive_bytes_max_ =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(receive_bytes_max_, params.bytes_max));
  // The array only grows: the owner overwrites each delivery it fills.
  if (deliveries_.size() < params.max) deliveries_.resize(params.max);
  request_.deliveries = std::span(deliveries_).first(params.max);
  request_.receive = params;
  request_.receive.bytes_max = receive_bytes_max_;
  return route(Op::receive, owner);
}

// Waits after an empty result, with memory for waiting_max messages only.
BinaryCall::Next BinaryCall::wait_for_some() {
  std::vector<Delivery>(waiting_max).swap(deliveries_);
  request_.deliveries = deliveries_;
  request_.receive.max = waiting_max;
  request_.receive.wait = std::exchange(wait_later_, Duration{0});
  return route(Op::receive, target_);
}

// --- subscriptions ---

BinaryCall::Next BinaryCall::subscribe(const Context& call) {
  const auto credit = call.in.take<std::uint32_t>();
  const auto visibility_ms = call.in.take<std::uint32_t>();
  const auto bytes_max = call.in.take<std::uint32_t>();
  if (!call.in.finished()) return refuse(Status::bad_frame);
  // Without a visibility timeout the same message would be sent until the credit is used up.
  const bool fits = credit >= 1 && credit <= subscription_credit_max &&
                    in_range(visibility_ms, visibility_ms_max) &&
                    hides(duration(visibility_ms), call.queue());
  Subscriptions& all = call.session.subscriptions_;
  if (!fits || all.find(header_.correlation) != nullptr) return refuse(Status::invalid);
  subscription_ = all.add({.request = header_,
                           .visibility = duration(visibility_ms),
                           .bytes_max = bytes_max,
                           .credit = credit});
  if (subscription_ == nullptr) return refuse(Status::overloaded);
  return push(call.session, call.directory, call.config);
}

BinaryCall::Next BinaryCall::push(BinarySession& session, const Directory& directory,
                                  const BinarySettings& config) {
  CHECK(subscription_ != nullptr, "a push without a subscription");
  if (subscription_->ending) return end_subscription(session, Status::ok);
  if (subscription_->credit == 0) return Next::pause;
  const ConfigPtr* opened = session.queue(header_.queue);
  CHECK(opened != nullptr, "a subscription of handle {}", header_.queue);
  if (*opened == nullptr) return end_subscription(session, Status::no_such_queue);
  if (const ConfigPtr* current = directory.find((*opened)->id)) opened = current;
  if (!hides(subscription_->visibility, **opened))
    return end_subscription(session, Status::invalid);
  empty_ = false;
  undelivering_ = false;
  answer_.clear();
  answer_bytes_max_ = SIZE_MAX;
  config_ = &config;
  request_.home = config.home;
  request_.queue = (*opened)->id;
  return route_receive(session,
                       {.max = subscription_->capacity(),
                        .visibility = subscription_->visibility,
                        .wait = subscription_wait,
                        .attempt = {},
                        .bytes_max = subscription_->bytes_max},
                       (*opened)->owner);
}

bool BinaryCall::widen() {
  CHECK(subscription_ != nullptr, "a widened receive without a subscription");
  if (target_ != request_.home || request_.waiter == 0) return false;
  const std::uint32_t capacity = subscription_->capacity();
  if (capacity <= request_.receive.max) return false;
  if (deliveries_.size() < capacity) deliveries_.resize(capacity);
  request_.deliveries = std::span(deliveries_).first(capacity);
  request_.receive.max = capacity;
  return true;
}

BinaryCall::Next BinaryCall::end_subscription(BinarySession& session, Status status) {
  CHECK(subscription_ != nullptr, "a subscription ends twice");
  session.subscriptions_.remove(header_.correlation);
  subscription_ = nullptr;
  empty_ = false;
  answer_.clear();
  status_ = status;
  return Next::respond;
}

// The response to SUBSCRIBE follows when no DELIVER is under way.
BinaryCall::Next BinaryCall::unsubscribe(const Context& call) {
  const auto correlation = call.in.take<std::uint32_t>();
  if (!call.in.finished()) return refuse(Status::bad_frame);
  Subscription* const subscription = call.session.subscriptions_.find(correlation);
  if (subscription != nullptr) subscription->ending = true;
  return Next::respond;
}

// --- receipts ---

BinaryCall::Next BinaryCall::receipts(const Context& call) {
  BinaryReader& in = call.in;
  const bool change = header_.op == static_cast<std::uint8_t>(BinaryOp::change);
  const bool grants = header_.op == static_cast<std::uint8_t>(BinaryOp::acknowledge);
  const auto subscription = grants ? in.take<std::uint32_t>() : 0;
  const auto credit = grants ? in.take<std::uint32_t>() : 0;
  const auto count = in.take<std::uint32_t>();
  if ((count < 1 && !grants) || count > entries_max)
    return refuse(in.ok() ? Status::invalid : Status::bad_frame);
  receipts_.clear();
  for (std::uint32_t i = 0; i < count; ++i) {
    ReceiptEntry entry;
    const std::string_view handle = in.take_bytes(receipt_bytes);
    if (!in.ok()) return refuse(Status::bad_frame);
    std::memcpy(entry.handle.data(), handle.data(), receipt_bytes);
    if (change) {
      const auto visibility_ms = in.take<std::uint32_t>();
      if (visibility_ms > visibility_ms_max) entry.error = Errc::invalid;
      entry.visibility = milliseconds(visibility_ms);
    }
    receipts_.push_back(entry);
  }
  if (!in.finished()) return refuse(Status::bad_frame);
  if (grants && !call.session.subscriptions_.grant(subscription, credit))
    return refuse(Status::invalid);
  if (receipts_.empty()) return Next::respond;
  request_.receipts = receipts_;
  return route(change ? Op::change_visibility : Op::delete_message, call.queue().owner);
}

}  // namespace pawl

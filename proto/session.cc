#include "proto/session.h"

#include <algorithm>

#include "core/check.h"
#include "proto/attributes.h"
#include "proto/text.h"
#include "proto/wire_queue.h"

namespace pawl {
namespace {

constexpr std::uint32_t delay_ms_max = 900'000;
constexpr std::uint32_t visibility_ms_max = 43'200'000;
constexpr std::uint32_t wait_ms_max = 20'000;
constexpr std::uint32_t list_max = 1000;
constexpr std::size_t client_name_max = 64;

bool in_range(std::uint32_t ms, std::uint32_t max) { return ms == wire_queue_default || ms <= max; }

Duration duration(std::uint32_t ms) {
  return ms == wire_queue_default ? queue_default : milliseconds(ms);
}

// The one system attribute a sender may give.
bool is_trace_header(std::string_view encoded) {
  MessageAttribute attribute;
  AttributeReader reader(encoded);
  return reader.next(attribute) && reader.at_end() && attribute.name == "AWSTraceHeader" &&
         attribute.type == "String" && check_attribute(attribute) == AttributeFault::none;
}

// What is wrong with one message, as SQS would judge it.
Status check(const SendEntry& entry, std::uint32_t delay_ms, std::int64_t size_max) {
  const Content& content = entry.content;
  if (content.body.empty() || !in_range(delay_ms, delay_ms_max)) return Status::invalid;
  if (!content.attributes.empty() && check_attributes(content.attributes) != Errc::ok)
    return Status::bad_attributes;
  if (!content.system.empty() && !is_trace_header(content.system)) return Status::bad_attributes;
  const std::size_t size = content.body.size() + attributes_size(content.attributes);
  if (size > static_cast<std::size_t>(size_max)) return Status::too_large;
  if (check_text(content.body) != TextFault::none) return Status::bad_text;
  return Status::ok;
}

}  // namespace

// --- Session ---

std::uint32_t Session::intern(const ConfigPtr& config) {
  const auto known = handles_.find(raw(config->id));
  if (known != handles_.end()) {
    queues_[known->second - 1] = config;
    return known->second;
  }
  if (full()) return 0;
  queues_.push_back(config);
  const auto handle = static_cast<std::uint32_t>(queues_.size());
  handles_.emplace(raw(config->id), handle);
  return handle;
}

const ConfigPtr* Session::queue(std::uint32_t handle) const {
  return handle >= 1 && handle <= queues_.size() ? &queues_[handle - 1] : nullptr;
}

// --- WireCall: in ---

WireCall::Next WireCall::begin(Session& session, std::string_view frame, const Directory& directory,
                               const SessionConfig& config) {
  status_ = Status::ok;
  detail_ = no_detail;
  config_ = &config;
  undelivering_ = false;
  answer_.clear();
  request_ = Request{};
  request_.home = config.home;
  header_ = FrameHeader{};
  frame_.assign(frame);

  const auto header = frame_.size() < frame_header_bytes ? std::nullopt : parse_header(frame_);
  if (!header) return hang_up(Status::bad_frame);
  header_ = *header;
  const auto payload = payload_of(header_, frame_);
  if (!payload) return hang_up(payload.error());
  if ((header_.flags & ~flag_checksum) != 0 || header_.status != 0)
    return refuse(Status::bad_frame);
  const bool is_hello = header_.op == static_cast<std::uint8_t>(WireOp::hello);
  if (is_hello == session.greeted_) return hang_up(Status::out_of_order);
  return run(session, *payload, directory, config);
}

WireCall::Next WireCall::run(Session& session, std::string_view payload, const Directory& directory,
                             const SessionConfig& config) {
  WireReader in(payload);
  switch (static_cast<WireOp>(header_.op)) {
    case WireOp::hello:
      return hello(session, in, config);
    case WireOp::ping:
      return in.finished() ? Next::respond : refuse(Status::bad_frame);
    case WireOp::open_queue:
      return open_queue(session, in, directory, config);
    case WireOp::create_queue:
      return create_queue(session, in, config);
    case WireOp::list_queues:
      return list_queues(in, directory, config);
    default:
      return run_on_queue(session, in, directory);
  }
}

// Everything that names its queue by the handle in the header.
WireCall::Next WireCall::run_on_queue(Session& session, WireReader& in,
                                      const Directory& directory) {
  const auto op = static_cast<WireOp>(header_.op);
  const bool known = op == WireOp::delete_queue || op == WireOp::set_attributes ||
                     op == WireOp::get_attributes || op == WireOp::purge || op == WireOp::stats ||
                     op == WireOp::send || op == WireOp::receive || op == WireOp::remove ||
                     op == WireOp::change;
  if (!known) return refuse(Status::unknown_op);
  const ConfigPtr* opened = session.queue(header_.queue);
  if (!opened) return refuse(Status::bad_handle);
  // A queue this shard has not heard of yet, or that is gone: its owner knows which, and answers.
  const ConfigPtr* current = directory.find((*opened)->id);
  if (current) opened = current;
  const QueueConfig& queue = **opened;
  request_.queue = queue.id;

  switch (op) {
    case WireOp::send:
      return send(in, queue);
    case WireOp::receive:
      return receive(in, queue);
    case WireOp::remove:
      return receipts(in, queue, Op::remove);
    case WireOp::change:
      return receipts(in, queue, Op::change_visibility);
    case WireOp::set_attributes:
      return set_attributes(in);
    default:
      break;
  }
  if (!in.finished()) return refuse(Status::bad_frame);
  if (op == WireOp::delete_queue) return route(Op::delete_queue, control_shard);
  if (op == WireOp::purge) return route(Op::purge, queue.owner);
  if (op == WireOp::get_attributes) described_ = *opened;
  return route(Op::count, queue.owner);
}

WireCall::Next WireCall::hello(Session& session, WireReader& in, const SessionConfig& config) {
  const auto magic = in.take<std::uint32_t>();
  const auto major = in.take<std::uint16_t>();
  in.take<std::uint16_t>();  // minor: nothing depends on it yet
  const auto features = in.take<std::uint32_t>();
  const auto auth = in.take<std::uint8_t>();
  const std::string_view name = in.take_short();
  // Magic and major first: of another version's HELLO no more than these may be understood.
  if (magic != wire_magic || major != wire_major) return hang_up(Status::protocol_version);
  if (!in.ok()) return hang_up(Status::bad_frame);  // more than this is a later minor's
  if (auth != 0) return hang_up(Status::unauthorized);
  session.greeted_ = true;
  session.client_ = name.substr(0, client_name_max);

  put(answer_, wire_major);
  put(answer_, wire_minor);
  put(answer_, features & feature_checksum);
  put(answer_, frame_bytes_max);
  put(answer_, config.credit_frames);
  put(answer_, config.credit_bytes);
  put(answer_, static_cast<std::uint32_t>(entries_max));
  put(answer_, config.boot_id);
  put(answer_, raw(config.home));
  put(answer_, config.shards);
  put(answer_, static_cast<std::uint16_t>(config.shard_ports.size()));
  for (const std::uint16_t port : config.shard_ports) put(answer_, port);
  return Next::respond;
}

WireCall::Next WireCall::open_queue(Session& session, WireReader& in, const Directory& directory,
                                    const SessionConfig& config) {
  const std::string_view account = in.take_short();
  const std::string_view name = in.take_short();
  if (!in.finished()) return refuse(Status::bad_frame);
  const ConfigPtr* found =
      directory.find(account.empty() ? std::string_view(config.account) : account, name);
  if (!found) return refuse(Status::no_such_queue);
  return opened(session, *found);
}

WireCall::Next WireCall::create_queue(Session& session, WireReader& in,
                                      const SessionConfig& config) {
  spec_.account = config.account;
  spec_.name = in.take_short();
  spec_.changes.clear();
  spec_.tags.clear();
  const Status attributes = wire::take_queue_attributes(in, spec_.changes);
  const Status tags = wire::take_tags(in, spec_.tags);
  if (!in.finished()) return refuse(Status::bad_frame);
  if (const Status name = wire::check_queue_name(spec_.name); name != Status::ok)
    return refuse(name);
  if (attributes != Status::ok) return refuse(attributes);
  if (tags != Status::ok) return refuse(tags);
  if (session.full()) return refuse(Status::overloaded);
  request_.spec = &spec_;
  return route(Op::create_queue, control_shard);
}

WireCall::Next WireCall::set_attributes(WireReader& in) {
  changes_.clear();
  const Status status = wire::take_queue_attributes(in, changes_);
  if (!in.finished()) return refuse(Status::bad_frame);
  if (status != Status::ok) return refuse(status);
  if (changes_.empty()) return refuse(Status::invalid);
  request_.changes = changes_;
  return route(Op::set_attributes, control_shard);
}

WireCall::Next WireCall::list_queues(WireReader& in, const Directory& directory,
                                     const SessionConfig& config) {
  const std::string_view prefix = in.take_short();
  const std::string_view after = in.take_short();
  const auto max = in.take<std::uint16_t>();
  if (!in.finished()) return refuse(Status::bad_frame);
  if (max < 1 || max > list_max) return refuse(Status::invalid);
  // One more than asked for tells whether there are more.
  const std::vector<ConfigPtr> found =
      directory.list(config.account, prefix, after, std::size_t{max} + 1);
  const std::size_t count = std::min<std::size_t>(found.size(), max);
  put(answer_, static_cast<std::uint8_t>(found.size() > count));
  put(answer_, static_cast<std::uint16_t>(count));
  for (std::size_t i = 0; i < count; ++i) put_short(answer_, found[i]->name);
  return Next::respond;
}

WireCall::Next WireCall::send(WireReader& in, const QueueConfig& queue) {
  const auto count = in.take<std::uint32_t>();
  if (count < 1 || count > entries_max)
    return refuse(in.ok() ? Status::invalid : Status::bad_frame);
  const std::int64_t size_max = queue.number(Attribute::maximum_message_size);
  sends_.clear();
  prechecks_.clear();
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto head = in.take<std::uint32_t>();
    if ((head & ~entry_bits_known) != 0) return refuse(Status::bad_frame, i);
    const std::uint32_t attributes = head & entry_has_attributes ? in.take<std::uint32_t>() : 0;
    const std::uint32_t system = head & entry_has_system ? in.take<std::uint32_t>() : 0;
    const std::uint32_t delay_ms =
        head & entry_has_delay ? in.take<std::uint32_t>() : wire_queue_default;
    SendEntry entry;
    entry.content.body = in.take_bytes(head & entry_body_mask);
    entry.content.attributes = in.take_bytes(attributes);
    entry.content.system = in.take_bytes(system);
    if (!in.ok()) return refuse(Status::bad_frame, i);
    entry.delay = duration(delay_ms);
    prechecks_.push_back(check(entry, delay_ms, size_max));
    if (prechecks_.back() == Status::ok) sends_.push_back(entry);
  }
  if (!in.finished()) return refuse(Status::bad_frame);
  if (sends_.empty()) return Next::respond;
  request_.sends = sends_;
  return route(Op::send, queue.owner);
}

WireCall::Next WireCall::receive(WireReader& in, const QueueConfig& queue) {
  const auto max = in.take<std::uint32_t>();
  const auto wait_ms = in.take<std::uint32_t>();
  const auto visibility_ms = in.take<std::uint32_t>();
  const auto bytes_max = in.take<std::uint32_t>();
  if (!in.finished()) return refuse(Status::bad_frame);
  const bool fits = max >= 1 && max <= entries_max && in_range(wait_ms, wait_ms_max) &&
                    in_range(visibility_ms, visibility_ms_max);
  if (!fits) return refuse(Status::invalid);
  receive_bytes_max_ = config_->receive_bytes_max;
  if (bytes_max != 0) receive_bytes_max_ = std::min(receive_bytes_max_, bytes_max);
  // Only grown: the owner overwrites every delivery it fills.
  if (deliveries_.size() < max) deliveries_.resize(max);
  request_.deliveries = std::span(deliveries_).first(max);
  request_.receive = {max, duration(visibility_ms), duration(wait_ms)};
  return route(Op::receive, queue.owner);
}

WireCall::Next WireCall::receipts(WireReader& in, const QueueConfig& queue, Op op) {
  const auto count = in.take<std::uint32_t>();
  if (count < 1 || count > entries_max)
    return refuse(in.ok() ? Status::invalid : Status::bad_frame);
  receipts_.clear();
  for (std::uint32_t i = 0; i < count; ++i) {
    ReceiptEntry entry;
    const std::string_view handle = in.take_bytes(receipt_bytes);
    std::copy(handle.begin(), handle.end(), entry.handle.begin());
    if (op == Op::change_visibility) {
      const auto visibility_ms = in.take<std::uint32_t>();
      if (visibility_ms > visibility_ms_max) entry.error = Errc::invalid;
      entry.visibility = milliseconds(visibility_ms);
    }
    receipts_.push_back(entry);
  }
  if (!in.finished()) return refuse(Status::bad_frame);
  request_.receipts = receipts_;
  return route(op, queue.owner);
}

WireCall::Next WireCall::refuse(Status status, std::uint32_t detail) {
  status_ = status;
  detail_ = detail;
  return Next::respond;
}

WireCall::Next WireCall::hang_up(Status status) {
  status_ = status;
  return Next::close;
}

WireCall::Next WireCall::route(Op op, ShardId target) {
  request_.op = op;
  target_ = target;
  return Next::route;
}

}  // namespace pawl

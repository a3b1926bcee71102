// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <memory>
#include <string>

#include "core/base/check.h"
#include "proto/aws/notification.h"
#include "proto/binary/queue_codec.h"
#include "proto/binary/session.h"

// The second half of a BinaryCall: the returned request becomes the bytes of a response.

namespace pawl {
namespace {

// Limits of the buffers that a call keeps for its next frame; larger ones are freed.
constexpr std::size_t keep_bytes_max = 64 << 10;
constexpr std::size_t keep_entries_max = 256;
constexpr std::size_t keep_deliveries_max = 64;

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

template <typename T>
void give_back(T& buffer, std::size_t keep_max) {
  if (buffer.capacity() > keep_max) T().swap(buffer);
}

// Makes it anew in place, which costs a third of an assignment. The buffer of copies stays.
void renew(Request& request) {
  std::string copied;
  copied.swap(request.route.copied);
  copied.clear();
  std::destroy_at(&request);
  std::construct_at(&request);
  request.route.copied.swap(copied);
}

}  // namespace

BinaryCall::Next BinaryCall::resume(BinarySession& session, const Directory& directory,
                                    const BinarySettings&) {
  CHECK(request_.op != Op::none, "a call that routed nothing is resumed");
  // Messages that could not be returned become visible at their timeout.
  if (undelivering_) return delivered();
  // A waiting receive also waits while the in-flight limit is reached.
  if (request_.error == Errc::over_in_flight && wait_later_ != Duration{0}) {
    request_.error = Errc::ok;
    return wait_for_some();
  }
  if (request_.error != Errc::ok) {
    if (subscription_ != nullptr) return end_subscription(session, status_of(request_.error));
    const bool differs = request_.error == Errc::queue_exists;
    return refuse(status_of(request_.error),
                  differs ? static_cast<std::uint32_t>(request_.differing) : no_detail);
  }
  return verb_->resumed == nullptr ? Next::respond : (this->*verb_->resumed)(session, directory);
}

// The number of a started task, or the count of a cancelled one.
BinaryCall::Next BinaryCall::task_answered(BinarySession&, const Directory&) {
  switch (verb_->op) {
    case BinaryOp::start_move:
      put(answer_, request_.move.number);
      break;
    case BinaryOp::cancel_move:
      put(answer_, request_.move.moved);
      break;
    case BinaryOp::start_replay:
      put(answer_, request_.replay->number);
      break;
    default:
      CHECK(verb_->op == BinaryOp::cancel_replay, "op {}", static_cast<int>(verb_->op));
      put(answer_, request_.replay->sent);
  }
  return Next::respond;
}

BinaryCall::Next BinaryCall::moves_listed(BinarySession&, const Directory&) {
  CHECK(request_.move.tasks.size() <= UINT16_MAX, "{} tasks", request_.move.tasks.size());
  put(answer_, static_cast<std::uint16_t>(request_.move.tasks.size()));
  for (const MoveTask& task : request_.move.tasks) {
    put(answer_, task.number);
    put(answer_, static_cast<std::uint8_t>(task.status));
    put(answer_, static_cast<std::uint16_t>(status_of(task.failure)));
    put(answer_, task.rate);
    put(answer_, task.moved);
    put(answer_, task.to_move);
    put(answer_, config_->shift->wall(task.started).ms);
    put_short(answer_, QueueName::from_text(task.destination).name);
  }
  return Next::respond;
}

BinaryCall::Next BinaryCall::replays_listed(BinarySession&, const Directory&) {
  CHECK(request_.replay != nullptr, "a list of replays without parameters");
  CHECK(request_.replay->tasks.size() <= UINT16_MAX, "{} tasks", request_.replay->tasks.size());
  put(answer_, static_cast<std::uint16_t>(request_.replay->tasks.size()));
  for (const ReplayTask& task : request_.replay->tasks) {
    put(answer_, task.number);
    put(answer_, static_cast<std::uint8_t>(task.status));
    put(answer_, static_cast<std::uint16_t>(status_of(task.failure)));
    put(answer_, task.rate);
    put(answer_, config_->shift->wall(task.from).ms);
    put(answer_, config_->shift->wall(task.to).ms);
    put(answer_, config_->shift->wall(task.started).ms);
    put(answer_, task.sent);
    put(answer_, task.unreadable);
    put_short(answer_, QueueName::from_text(task.destination).name);
    put_short(answer_, task.filter);
  }
  return Next::respond;
}

BinaryCall::Next BinaryCall::created(BinarySession& session, const Directory& directory) {
  return opened(session, request_.config, directory);
}

// Assigns a handle to the queue and writes its settings.
BinaryCall::Next BinaryCall::opened(BinarySession& session, const ConfigPtr& config,
                                    const Directory& directory) {
  header_.queue = session.intern(config, directory);
  if (header_.queue == 0) return refuse(Status::overloaded);
  put(answer_, raw(config->id));
  put(answer_, raw(config->owner));
  put(answer_, static_cast<std::uint32_t>(config->number(Attribute::maximum_message_size)));
  put(answer_, static_cast<std::uint32_t>(config->visibility().ms));
  put(answer_, static_cast<std::uint32_t>(config->delay().ms));
  put(answer_, static_cast<std::uint32_t>(config->wait().ms));
  put(answer_, static_cast<std::uint32_t>(config->retention().ms));
  return Next::respond;
}

// The queue's message counts; for GET_ATTRIBUTES also its settings.
BinaryCall::Next BinaryCall::counted(BinarySession& session, const Directory&) {
  put(answer_, request_.counts.visible);
  put(answer_, request_.counts.in_flight);
  put(answer_, request_.counts.delayed);
  if (verb_->op == BinaryOp::stats) {
    if (session.minor_ >= 2) put(answer_, request_.counts.state_bytes);
    return Next::respond;
  }
  CHECK(described_ != nullptr, "a description of no queue");
  const QueueConfig& config = *described_;
  put(answer_, config_->shift->wall(config.created).ms);
  put(answer_, config_->shift->wall(config.modified).ms);
  binary::put_queue_attributes(answer_, config);
  const bool fits = answer_.size() <= frame_bytes_max - frame_header_bytes - frame_checksum_bytes;
  return fits ? Next::respond : refuse(Status::too_large);
}

// Messages that do not fit into the response return to the queue, as if never delivered.
BinaryCall::Next BinaryCall::received(BinarySession& session, const Directory& directory) {
  const bool nothing = request_.delivered + request_.unreadable == 0;
  if (nothing && wait_later_ != Duration{0}) return wait_for_some();
  if (subscription_ != nullptr && request_.delivered == 0) {
    renew(request_);
    return push(session, directory, *config_);
  }
  CHECK(request_.unfetched <= request_.delivered, "{} of {} are not fetched", request_.unfetched,
        request_.delivered);
  const std::uint32_t fetched = request_.delivered - request_.unfetched;
  envelopes_.clear();
  put_in_envelopes(request_.deliveries.first(fetched), envelopes_);
  const std::size_t bytes_max = std::min<std::size_t>(receive_bytes_max_, answer_bytes_max_);
  std::size_t bytes = 0;
  for (fit_ = 0; fit_ < fetched; ++fit_) {
    bytes += delivery_bytes(deliveries_[fit_].content);
    if ((fit_ > 0 || bytes_max == 0) && bytes > bytes_max) break;
  }
  if (subscription_ != nullptr) subscription_->delivered(fit_);
  if (fit_ == request_.delivered) return delivered();

  write_deliveries(answer_);
  receipts_.clear();
  for (std::uint32_t i = fit_; i < request_.delivered; ++i) {
    ReceiptEntry entry;
    entry.handle = deliveries_[i].handle;
    receipts_.push_back(entry);
  }
  request_.receipts = receipts_;
  request_.deliveries = {};
  request_.delivered = 0;
  undelivering_ = true;
  return route(Op::undeliver, target_);
}

// The response has the deliveries that fit. Without any, a subscription pauses: its peer does not
// read.
BinaryCall::Next BinaryCall::delivered() {
  if (subscription_ == nullptr) return Next::respond;
  if (fit_ > 0) return Next::deliver;
  trim();
  return Next::pause;
}

void BinaryCall::write_response(std::string& out) {
  if (status_ != Status::ok) {
    write_refusal(out, header_, status_, detail_);
  } else {
    FrameHeader header = header_;
    if (subscription_ != nullptr) header.op = static_cast<std::uint8_t>(BinaryOp::deliver);
    header.flags = static_cast<std::uint8_t>(header_.flags | flag_answer);
    const std::size_t begin = begin_frame(out, header);
    write_payload(out);
    finish_frame(out, begin);
  }
  trim();
}

void BinaryCall::write_payload(std::string& out) const {
  if (!answer_.empty()) {
    out.append(answer_);
    return;
  }
  if (subscription_ != nullptr) return write_deliveries(out);
  if (verb_->write != nullptr) (this->*verb_->write)(out);
}

void BinaryCall::write_receipts(std::string& out) const {
  put(out, static_cast<std::uint32_t>(request_.receipts.size()));
  for (const ReceiptEntry& entry : request_.receipts)
    put(out, static_cast<std::uint16_t>(status_of(entry.error)));
}

// Ids are the 16 bytes of the UUID that SQS clients receive.
void BinaryCall::write_sent(std::string& out) const {
  put(out, static_cast<std::uint32_t>(prechecks_.size()));
  std::size_t next = 0;
  for (const Status precheck : prechecks_) {
    Status status = precheck;
    Seq seq = 0;
    MessageId id;
    if (status == Status::ok) {
      CHECK(next < sends_.size(), "{} sends", next);
      const SendEntry& entry = sends_[next++];
      status = status_of(entry.error);
      if (status == Status::ok) {
        seq = entry.seq;
        if (seq != 0) id = message_id(config_->secret, request_.queue, seq);
      }
    }
    put_all(out, static_cast<std::uint16_t>(status), seq, std::byteswap(id.high),
            std::byteswap(id.low));
  }
  CHECK(next == sends_.size(), "{} of {} sends are answered", next, sends_.size());
}

// The deliveries that fit into the response.
void BinaryCall::write_deliveries(std::string& out) const {
  CHECK(fit_ <= deliveries_.size(), "{} of {} deliveries", fit_, deliveries_.size());
  put(out, fit_);
  for (std::uint32_t i = 0; i < fit_; ++i) {
    const Delivery& delivery = deliveries_[i];
    const Content& content = delivery.content;
    out.append(reinterpret_cast<const char*>(delivery.handle.data()), receipt_bytes);
    const MessageId id = delivery.id != MessageId{}
                             ? delivery.id
                             : message_id(config_->secret, request_.queue, delivery.seq);
    const auto body = static_cast<std::uint32_t>(content.body.size());
    CHECK(body <= entry_body_mask, "{}", body);
    const std::uint32_t names = groups_ ? names_word(content) : 0;
    const std::uint32_t head = body | (content.attributes.empty() ? 0 : entry_has_attributes) |
                               (content.system.empty() ? 0 : entry_has_system) |
                               (names == 0 ? 0 : entry_has_names);
    put_all(out, std::byteswap(id.high), std::byteswap(id.low), delivery.seq,
            config_->shift->wall(delivery.sent).ms,
            config_->shift->wall(delivery.first_received).ms, delivery.receive_count, head);
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

std::size_t BinaryCall::capacity() const {
  const auto bytes = [](const auto& buffer) { return buffer.capacity() * sizeof buffer[0]; };
  return bytes(frame_) + bytes(answer_) + bytes(envelopes_) + bytes(prechecks_) + bytes(sends_) +
         bytes(digests_) + bytes(receipts_) + bytes(deliveries_) + bytes(request_.route.copied);
}

void BinaryCall::trim() {
  give_back(frame_, keep_bytes_max);
  give_back(answer_, keep_bytes_max);
  give_back(envelopes_, keep_bytes_max);
  give_back(prechecks_, keep_entries_max);
  give_back(sends_, keep_entries_max);
  give_back(digests_, keep_entries_max);
  give_back(receipts_, keep_entries_max);
  give_back(deliveries_, keep_deliveries_max);
  renew(request_);
  replay_.reset();
  described_.reset();
  empty_ = true;
}

}  // namespace pawl

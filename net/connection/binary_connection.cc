// SPDX-License-Identifier: Apache-2.0
#include "net/connection/binary_connection.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/free_memory.h"
#include "net/connection/connection_host.h"
#include "proto/binary/frames.h"

namespace pawl {

BinaryConnection::~BinaryConnection() {
  for (PendingBinaryCall* const call : subscriptions_) {
    CHECK(call->paused, "a connection is freed while its subscription receives");
    delete call;
  }
}

std::size_t BinaryConnection::take(std::string_view bytes) {
  const BinarySettings& config = host().session();
  std::size_t taken = 0;
  // While the shard is short of memory, a connection gets less credit.
  const std::size_t credit =
      host().free_memory_bytes() > 0 ? config.credit_bytes : short_credit_bytes;
  while (open() && taken < bytes.size() && !congested() && calls() < config.credit_frames &&
         bytes_under_way_ < credit) {
    std::string_view rest = bytes.substr(taken);
    // The header first, then the length in it. A frame that arrives whole is parsed in place.
    const std::size_t header_left =
        frame_header_bytes - std::min(frame_header_bytes, partial_.size());
    if (header_left > 0 && (partial_.size() > 0 || rest.size() < frame_header_bytes)) {
      const std::size_t n = std::min(header_left, rest.size());
      if (partial_.empty()) partial_since_ = host().now();
      partial_.append(rest.substr(0, n));
      taken += n;
      if (partial_.size() < frame_header_bytes) continue;
      rest.remove_prefix(n);  // the frame may be complete: it may have no payload
    }
    const auto header = parse_header(partial_.empty() ? rest : std::string_view(partial_));
    const bool stranger = !session_.greeted();
    if (!header || (stranger && header->length > greeting_bytes_max)) {
      const std::string_view begin = partial_.empty() ? rest : std::string_view(partial_);
      if (stranger && begins_as_http(begin))
        out().append(host().wrong_port("This is the binary port of pawl.", peer().address));
      finish();  // no frame boundary can be found after this
      return bytes.size();
    }
    CHECK(partial_.size() <= header->length, "{} bytes are kept of a frame of {}", partial_.size(),
          header->length);
    if (partial_.empty() && rest.size() >= header->length) {
      begin_call(rest.substr(0, header->length));
      taken += header->length;
      continue;
    }
    if (partial_.empty()) partial_since_ = host().now();
    const std::size_t n = std::min<std::size_t>(header->length - partial_.size(), rest.size());
    partial_.reserve(
        std::min<std::size_t>(header->length, std::max(trusted_bytes, partial_.size() + n)));
    partial_.append(rest.substr(0, n));
    taken += n;
    if (partial_.size() == header->length) {
      begin_call(partial_);
      partial_.clear();
      if (partial_.capacity() > Output::kept_bytes_max) free_memory(partial_);
    }
  }
  return taken;
}

bool BinaryConnection::on_second(Instant now) {
  if (open()) send_empty_delivers(now);
  const auto& times = host().context().times;
  if (!session_.greeted() && now - begun_ > times.head) return true;
  if (partial_.empty() || now - partial_since_ <= times.body) return false;
  // A late connection ends when no call is pending; receives of subscriptions have no end.
  const auto waiting = std::ranges::count(subscriptions_, false, &PendingBinaryCall::paused);
  if (open() && static_cast<std::size_t>(waiting) == calls()) finish();
  return true;
}

void BinaryConnection::begin_call(std::string_view frame) {
  const auto header = parse_header(frame);
  const auto op = header ? static_cast<BinaryOp>(header->op) : BinaryOp{};
  std::unique_ptr<PendingBinaryCall> call =
      host().take_call(op == BinaryOp::receive || op == BinaryOp::subscribe);
  session_.set_promised(promised_beside(promised_));
  session_.refuse_sends(host().refuses(frame.size()));
  session_.set_now(host().now());
  PendingBinaryCall& held = *call.release();  // release() returns it to the host
  held.begun_us = host().now_us();
  auto next =
      held.binary.begin(session_, frame, host().loop().shard().directory(), host().session());
  if (next == BinaryCall::Next::hand_over) {
    leave(held.binary.target(), frame);
    return release(held);
  }
  if (held.binary.subscription() != nullptr) {
    subscriptions_.push_back(&held);
    held.binary.subscription()->written = host().now();
    if (host().draining()) next = held.binary.end_subscription(session_, Status::ok);
  }
  if (next == BinaryCall::Next::route && op != BinaryOp::subscribe)
    unanswered_ -= std::min(unanswered_, held.binary.request().receipts.size());
  if (carry_on(held, next)) release(held);
  if (op == BinaryOp::acknowledge || op == BinaryOp::unsubscribe) resume_subscriptions();
}

// True: the call is over.
bool BinaryConnection::carry_on(PendingBinaryCall& call, BinaryCall::Next next) {
  using Next = BinaryCall::Next;
  if (next == Next::deliver) {
    write_response(call);
    call.binary.subscription()->written = host().now();
    unanswered_ += call.binary.subscription()->latest;
    next = congested() && open() ? Next::pause : push(call);
  }
  if (next == Next::pause && !congested()) next = push(call);  // the peer has read meanwhile
  if (next == Next::pause) {
    pause(call);
    return false;
  }
  if (next == Next::route) {
    // Subscriptions that wait must not keep their acknowledgements out.
    const bool waits = call.binary.subscription() != nullptr;
    charge(call, waits ? 0 : call.binary.memory(), call.memory(), call.binary.promised());
    submit(call, call.binary.request(), call.binary.target());
    return false;
  }
  count(call);
  write_response(call);
  if (next == Next::close) {
    if (session_.auth_fault() != AuthFault::none)
      host().auth_failed(session_.auth_fault(), Protocol::binary, peer().address);
    finish();
  }
  return true;
}

// Call it before the response is written.
void BinaryConnection::count(const PendingBinaryCall& call) {
  const std::size_t row = static_cast<std::size_t>(call.binary.op()) % RequestCounts::binary_ops;
  host().requests().binary[row].note(host().now_us() - call.begun_us);
  if (call.binary.status() != Status::ok) [[unlikely]]
    host().requests().note_binary_error(call.binary.op(), name_of(call.binary.status()));
}

void BinaryConnection::write_response(PendingBinaryCall& call) {
  const std::size_t before = out().size();
  call.binary.write_response(out());
  host().grew(out().size() - before);
}

// The bytes that count as promised for the next receive: `own` of this connection, or more where
// all connections together have little left.
std::size_t BinaryConnection::promised_beside(std::size_t own) const {
  constexpr std::size_t most = BinarySettings::receive_bytes_promised;
  return std::max(own, most - std::min(most, host().left_to_promise()));
}

void BinaryConnection::charge(PendingBinaryCall& call, std::size_t bytes, std::size_t held,
                              std::size_t promised) {
  CHECK(bytes_under_way_ >= call.bytes);
  if (held > call.held) host().grew(held - call.held);
  bytes_under_way_ += bytes - std::exchange(call.bytes, bytes);
  held_under_way_ += held - std::exchange(call.held, held);
  host().promise(call.promised, promised);
  promised_ += promised - std::exchange(call.promised, promised);
}

bool BinaryConnection::on_response(PendingCall& pending) {
  auto& call = static_cast<PendingBinaryCall&>(pending);
  session_.set_promised(promised_beside(promised_ - call.promised));
  // When memory is short, a response may still have `least` bytes; none only if this peer does not
  // read.
  constexpr std::size_t least = BinarySettings::receive_bytes_min;
  call.binary.limit_answer(
      std::min(out_max - std::min(out_max, unsent()), std::max(least, host().free_memory_bytes())));
  const bool ends = !open() || host().draining();
  if (call.binary.subscription() != nullptr && ends) call.binary.subscription()->ending = true;
  return carry_on(
      call, call.binary.resume(session_, host().loop().shard().directory(), host().session()));
}

void BinaryConnection::release(PendingCall& pending) {
  auto& call = static_cast<PendingBinaryCall&>(pending);
  if (call.binary.subscription() != nullptr) end_subscription(call);
  std::erase(subscriptions_, &call);
  charge(call, 0, 0, 0);
  CHECK(call.bytes == 0 && call.held == 0 && call.promised == 0);
  call.binary.drop();
  host().give_call(std::unique_ptr<PendingBinaryCall>(&call));
}

// Takes no more frames. Subscriptions end without a response: their receives might wait long.
void BinaryConnection::finish() {
  finish_after_answers();
  for (std::size_t i = subscriptions_.size(); i-- > 0;)
    if (!subscriptions_[i]->paused) abandon(*subscriptions_[i]);
}

// --- subscriptions ---

BinaryCall::Next BinaryConnection::push(PendingBinaryCall& call) {
  charge(call, 0, 0, 0);
  session_.set_promised(promised_beside(promised_));
  return call.binary.push(session_, host().loop().shard().directory(), host().session());
}

void BinaryConnection::pause(PendingBinaryCall& call) {
  charge(call, 0, call.memory(), 0);
  call.paused = true;
}

void BinaryConnection::resume(PendingBinaryCall& call) {
  call.paused = false;
  if (carry_on(call, push(call))) release(call);
}

void BinaryConnection::send_empty_delivers(Instant now) {
  for (const PendingBinaryCall* const call : subscriptions_) {
    Subscription& subscription = *call->binary.subscription();
    if (now - subscription.written < host().context().times.subscription_silence || congested())
      continue;
    write_empty_deliver(out(), subscription);
    subscription.written = now;
  }
}

// Continues the paused ones if they have credit now, makes space for it in waiting ones, and ends
// those that UNSUBSCRIBE named.
void BinaryConnection::resume_subscriptions() {
  for (std::size_t i = subscriptions_.size(); i-- > 0;) {
    PendingBinaryCall& call = *subscriptions_[i];
    if (!call.paused) {
      if (call.binary.subscription()->ending) {
        abandon(call);
      } else if (call.binary.widen()) {
        charge(call, 0, call.memory(), call.binary.promised());
      }
    } else if (!congested()) {
      resume(call);
    }
  }
}

// Ends the paused ones. The shard answers the others, as all receives that wait.
void BinaryConnection::end_subscriptions() {
  for (std::size_t i = subscriptions_.size(); i-- > 0;) {
    PendingBinaryCall& call = *subscriptions_[i];
    call.binary.subscription()->ending = true;
    if (call.paused) resume(call);
  }
}

// The receive under way was taken back.
void BinaryConnection::end_subscription(PendingBinaryCall& call) {
  call.binary.end_subscription(session_, Status::ok);
  count(call);
  if (open()) write_response(call);
}

}  // namespace pawl

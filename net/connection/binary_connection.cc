// SPDX-License-Identifier: Apache-2.0
#include "net/connection/binary_connection.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/free_memory.h"
#include "net/connection/connection_host.h"
#include "proto/binary/frames.h"

namespace pawl {

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
        out().append(host().wrong_port("This is the binary port of pawl."));
      finish_after_answers();  // no frame boundary can be found after this
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
      if (partial_.capacity() > out_low) free_memory(partial_);
    }
  }
  return taken;
}

bool BinaryConnection::overdue(Instant now) const {
  const auto& times = host().context().times;
  if (!session_.greeted() && now - begun_ > times.head) return true;
  return !partial_.empty() && now - partial_since_ > times.body;
}

void BinaryConnection::begin_call(std::string_view frame) {
  const auto header = parse_header(frame);
  std::unique_ptr<PendingBinaryCall> call =
      host().take_call(header && static_cast<BinaryOp>(header->op) == BinaryOp::receive);
  session_.set_promised(promised_);
  PendingBinaryCall& held = *call.release();  // release() returns it to the host
  const auto next =
      held.binary.begin(session_, frame, host().loop().shard().directory(), host().session());
  if (carry_on(held, next)) release(held);
}

// True: the call is over.
bool BinaryConnection::carry_on(PendingBinaryCall& call, BinaryCall::Next next) {
  if (next == BinaryCall::Next::route) {
    charge(call, call.binary.memory(), call.memory(), call.binary.promised());
    submit(call, call.binary.request(), call.binary.target());
    return false;
  }
  const std::size_t before = out().size();
  call.binary.write_response(out());
  host().grew(out().size() - before);
  if (next == BinaryCall::Next::close) {
    if (session_.auth_fault() != AuthFault::none)
      host().auth_failed(session_.auth_fault(), Protocol::binary, peer().address);
    finish_after_answers();
  }
  return true;
}

void BinaryConnection::charge(PendingBinaryCall& call, std::size_t bytes, std::size_t held,
                              std::size_t promised) {
  CHECK(bytes_under_way_ >= call.bytes);
  if (held > call.held) host().grew(held - call.held);
  bytes_under_way_ += bytes - std::exchange(call.bytes, bytes);
  held_under_way_ += held - std::exchange(call.held, held);
  promised_ += promised - std::exchange(call.promised, promised);
}

bool BinaryConnection::on_response(PendingCall& pending) {
  auto& call = static_cast<PendingBinaryCall&>(pending);
  // When memory is short, a response may still have `least` bytes; none only if this peer does not
  // read.
  constexpr std::size_t least = BinarySettings::receive_bytes_min;
  call.binary.limit_answer(
      std::min(free_output_bytes(), std::max(least, host().free_memory_bytes())));
  return carry_on(
      call, call.binary.resume(session_, host().loop().shard().directory(), host().session()));
}

void BinaryConnection::release(PendingCall& pending) {
  auto& call = static_cast<PendingBinaryCall&>(pending);
  charge(call, 0, 0, 0);
  CHECK(call.bytes == 0 && call.held == 0 && call.promised == 0);
  call.binary.drop();
  host().give_call(std::unique_ptr<PendingBinaryCall>(&call));
}

}  // namespace pawl

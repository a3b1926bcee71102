// SPDX-License-Identifier: Apache-2.0
#include "net/connection/connection_host.h"

#include <fmt/core.h>

#include <algorithm>
#include <random>
#include <utility>

#include "core/base/check.h"
#include "net/events/event_log.h"
#include "proto/http/parser.h"

namespace pawl {
namespace {

constexpr std::size_t spare_bytes_max = 8 << 20;

}  // namespace

bool begins_as_http(std::string_view bytes) {
  constexpr std::string_view methods[] = {"GET ", "POST ", "PUT ", "HEAD ", "OPTIONS ", "DELETE "};
  return std::ranges::any_of(methods, [&](std::string_view m) { return bytes.starts_with(m); });
}

void PendingCall::return_deliveries() {
  CHECK(abandoned && !giving_back && request->op == Op::receive);
  CHECK(request->delivered <= request->deliveries.size());
  giving_back = true;
  returned.clear();
  for (const Delivery& delivery : request->deliveries.first(request->delivered))
    returned.push_back({.handle = delivery.handle});
  request->op = Op::undeliver;
  request->receipts = returned;
}

bool PendingCall::needs_another_look(ConnectionHost& host) {
  const bool only_unreadable = request->op == Op::receive && request->error == Errc::ok &&
                               request->delivered == 0 && request->unreadable > 0;
  if (!only_unreadable || abandoned || host.draining()) return false;
  const ConfigPtr* const queue = host.loop().shard().directory().find(request->queue);
  if (queue == nullptr) return false;
  Duration& wait = request->receive.wait;
  if (wait == queue_default) wait = (*queue)->wait();
  const Instant now = host.now();
  wait = Duration{std::max<std::int64_t>(0, wait.ms - (now - begun).ms)};
  begun = now;
  request->waiter = 0;
  return true;
}

ConnectionHost::ConnectionHost(Ring& ring, const ConnectionContext& context)
    : ring_(&ring),
      context_(&context),
      sqs_(context.sqs),
      session_(context.session),
      request_number_(std::random_device{}() | std::uint64_t{std::random_device{}()} << 32) {
  session_.api = &sqs_;
}

ConnectionHost::~ConnectionHost() = default;

void ConnectionHost::note_wrong_protocol(std::string_view what, const PeerAddress& peer) const {
  CHECK(!what.empty(), "no protocol is named");
  if (!event_log().admit(EventCode::wrong_protocol, steady_us())) return;
  const std::string address = text_of(peer);
  event_log().put(
      Event{EventCode::wrong_protocol, fmt::format("{} came from {}", what, address)}.with(
          "address", address));
}

std::string ConnectionHost::wrong_port(std::string_view why, const PeerAddress& peer) const {
  note_wrong_protocol(fmt::format("{} HTTP", why), peer);
  std::string answer;
  append_response(answer, 400, "text/plain; charset=utf-8", {}, {},
                  fmt::format("{} SQS is served at {}\n", why, context_->http_url), false, false,
                  date());
  return answer;
}

bool ConnectionHost::admit_handshake(std::uint32_t index, std::uint32_t generation,
                                     std::uint32_t peer_slot) {
  // Waiting handshakes go first.
  const auto verdict =
      handshakes_.empty() ? gate_.admit(peer_slot) : HandshakeGate::Verdict::next_turn;
  if (verdict == HandshakeGate::Verdict::now) return true;
  auto& queue = verdict == HandshakeGate::Verdict::next_turn ? handshakes_ : later_handshakes_;
  queue.push_back({index, generation});
  return false;
}

void ConnectionHost::auth_failed(AuthFault fault, Protocol protocol, const PeerAddress& peer) {
  auth_failures_.add(fault);
  if (!event_log().admit(EventCode::auth_failed, steady_us())) return;
  const std::string_view port = protocol == Protocol::http    ? "http"
                                : protocol == Protocol::admin ? "admin"
                                                              : "binary";
  const std::string address = text_of(peer);
  event_log().put(
      Event{EventCode::auth_failed,
            fmt::format("{}: authentication failed ({}) from {}", port, name_of(fault), address)}
          .with("port", port)
          .with("reason", name_of(fault))
          .with("address", address));
}

std::unique_ptr<PendingBinaryCall> ConnectionHost::take_call(bool receive) {
  auto& spare = receive ? spare_receives_ : spare_calls_;
  if (spare.empty()) {
    auto call = std::make_unique<PendingBinaryCall>();
    call->receive = receive;
    return call;
  }
  std::unique_ptr<PendingBinaryCall> call = std::move(spare.back());
  spare.pop_back();
  CHECK(call->receive == receive && call->bytes == 0 && call->held == 0,
        "a spare call charges its connection");
  const std::size_t bytes = std::exchange(call->spare, 0);
  CHECK(bytes > 0 && spare_bytes_ >= bytes, "a spare call has {} of {} bytes", bytes, spare_bytes_);
  spare_bytes_ -= bytes;
  // Its bytes are counted with its connection again.
  const std::size_t of_late = std::min(grown_, bytes);
  grown_ -= of_late;
  counted_ -= std::min(counted_, bytes - of_late);
  return call;
}

void ConnectionHost::give_call(std::unique_ptr<PendingBinaryCall> call) {
  CHECK(call != nullptr && call->bytes == 0 && call->held == 0 && call->promised == 0,
        "a call is kept while it charges its connection");
  const std::size_t bytes = call->spare = call->memory();
  if (spare_bytes_ + bytes > spare_bytes_max) return;
  spare_bytes_ += bytes;
  (call->receive ? spare_receives_ : spare_calls_).push_back(std::move(call));
}

std::unique_ptr<HttpCall> ConnectionHost::take_http_call() {
  if (spare_http_calls_.empty()) return std::make_unique<HttpCall>();
  std::unique_ptr<HttpCall> call = std::move(spare_http_calls_.back());
  spare_http_calls_.pop_back();
  const std::size_t bytes = call->memory();
  CHECK(spare_bytes_ >= bytes, "a spare call has {} of {} bytes", bytes, spare_bytes_);
  spare_bytes_ -= bytes;
  return call;
}

void ConnectionHost::give_http_call(std::unique_ptr<HttpCall> call) {
  CHECK(call != nullptr);
  call->clear();
  const std::size_t bytes = call->memory();
  if (spare_http_calls_.size() == spare_http_calls_max || bytes > spare_http_call_bytes_max) return;
  spare_bytes_ += bytes;
  spare_http_calls_.push_back(std::move(call));
}

void ConnectionHost::drop_spare() {
  spare_http_calls_.clear();
  spare_receives_.clear();
  spare_calls_.clear();
  spare_bytes_ = 0;
}

}  // namespace pawl

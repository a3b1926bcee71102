// SPDX-License-Identifier: Apache-2.0
#include "tests/client/fake_server.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "core/base/check.h"

namespace pawl {
namespace {

Instant now() {
  using namespace std::chrono;
  return Instant{
      duration_cast<std::chrono::milliseconds>(system_clock::now().time_since_epoch()).count()};
}

// The operation of a frame; SEND_ONCE is a SEND.
BinaryOp operation(char byte) {
  const auto op = static_cast<BinaryOp>(byte);
  return op == BinaryOp::send_once ? BinaryOp::send : op;
}

// A HELLO that offers no other features.
std::string with_features(std::string_view hello, std::uint32_t features) {
  std::string limited(hello);
  if (features == 0xFFFF'FFFF) return limited;
  char* const at = limited.data() + frame_header_bytes + 4 + 2 + 2;
  std::uint32_t offered = 0;
  std::memcpy(&offered, at, sizeof offered);
  offered &= features;
  std::memcpy(at, &offered, sizeof offered);
  return limited;
}

}  // namespace

FakeServer::FakeServer(BinarySettings config, std::uint16_t port) : config_(std::move(config)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  const int on = 1;
  CHECK(::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0);
  socklen_t size = sizeof address;
  CHECK(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0);
  CHECK(::listen(listener_, 64) == 0);
  CHECK(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { run(); });
}

FakeServer::~FakeServer() {
  stop_ = true;
  thread_.join();
  for (Peer& peer : peers_) ::close(peer.descriptor);
  ::close(listener_);
}

void FakeServer::run() {
  std::vector<pollfd> entries;
  while (!stop_) {
    entries.assign(1, {.fd = listener_, .events = POLLIN, .revents = 0});
    for (const Peer& peer : peers_) {
      const auto events = static_cast<short>(POLLIN | (peer.out.empty() ? 0 : POLLOUT));
      entries.push_back({.fd = peer.descriptor, .events = events, .revents = 0});
    }
    ::poll(entries.data(), entries.size(), 5);
    std::size_t index = 1;
    for (auto peer = peers_.begin(); peer != peers_.end();) {
      bool open = true;
      if (entries[index++].revents & (POLLIN | POLLHUP | POLLERR)) open = read(*peer);
      if (open) wake(*peer);
      open = open && flush(*peer);
      if (!open) ::close(peer->descriptor);
      peer = open ? std::next(peer) : peers_.erase(peer);
    }
    if (entries[0].revents & POLLIN)
      peers_.emplace_back().descriptor = ::accept(listener_, nullptr, nullptr);
  }
}

bool FakeServer::read(Peer& peer) {
  char bytes[64 << 10];
  const ssize_t n = ::recv(peer.descriptor, bytes, sizeof bytes, MSG_DONTWAIT);
  if (n < 0 && errno == EAGAIN) return true;
  if (n <= 0) return false;
  peer.in.append(bytes, static_cast<std::size_t>(n));
  return take_frames(peer);
}

bool FakeServer::take_frames(Peer& peer) {
  std::size_t taken = 0;
  while (!peer.closing && peer.in.size() - taken >= frame_header_bytes) {
    const std::string_view rest = std::string_view(peer.in).substr(taken);
    const auto header = parse_header(rest);
    if (!header) return false;
    if (rest.size() < header->length) break;
    if (!handle(peer, rest.substr(0, header->length))) return false;
    taken += header->length;
  }
  peer.in.erase(0, taken);
  return true;
}

bool FakeServer::handle(Peer& peer, std::string_view frame) {
  ++frames_;
  const BinaryOp op = operation(frame[4]);
  const std::string limited = op == BinaryOp::hello ? with_features(frame, features_) : "";
  if (!limited.empty()) frame = limited;
  const bool here = fault_ != Fault::none && op == fault_op_;
  if (here && fault_times_-- <= 0) fault_ = Fault::none;
  if (here && fault_ != Fault::none) {
    if (fault_ == Fault::hang_up) return false;
    if (fault_ == Fault::say_nothing) return true;
    if (fault_ == Fault::garbage) peer.out.assign(64, '\xFF');
    if (fault_ == Fault::garbage) return true;
  }
  if (peer.idle.empty()) peer.idle.emplace_back();
  const auto pending = peer.idle.begin();
  BinaryCall::Next next = pending->call.begin(peer.session, frame, broker_.directory(), config_);
  if (next == BinaryCall::Next::hand_over) {  // this server is every shard
    config_.home = pending->call.target();
    pending->call.drop();
    next = pending->call.begin(peer.session, frame, broker_.directory(), config_);
  }
  const Duration wait = pending->call.request().receive.wait;
  pending->deadline = now() + (wait.ms > 0 ? wait : Duration{0});
  if (!step(peer, pending, next)) peer.parked.splice(peer.parked.end(), peer.idle, pending);
  return !(here && fault_ == Fault::lose_answer);
}

// Returns false if the call has to wait for a message, or a subscription for credit.
bool FakeServer::step(Peer& peer, std::list<Pending>::iterator pending, BinaryCall::Next next) {
  while (next != BinaryCall::Next::respond && next != BinaryCall::Next::close) {
    pending->paused = next == BinaryCall::Next::pause;
    if (pending->paused) return false;
    if (next == BinaryCall::Next::deliver) {
      respond(peer, pending, next);
      next = push(peer, *pending);
      continue;
    }
    Request& request = pending->call.request();
    if (request.op == refused_op_ && refusals_ > 0) {
      --refusals_;
      request.error = refusal_;
    } else if (!broker_.apply(request, now()) && now() < pending->deadline) {
      return false;
    }
    next = pending->call.resume(peer.session, broker_.directory(), config_);
  }
  respond(peer, pending, next);
  return true;
}

BinaryCall::Next FakeServer::push(Peer& peer, Pending& pending) {
  const BinaryCall::Next next = pending.call.push(peer.session, broker_.directory(), config_);
  pending.deadline = now() + pending.call.request().receive.wait;
  return next;
}

void FakeServer::respond(Peer& peer, std::list<Pending>::iterator pending, BinaryCall::Next next) {
  const std::size_t begin = peer.out.size();
  pending->call.write_response(peer.out);
  peer.closing = next == BinaryCall::Next::close;
  const bool here = operation(peer.out[begin + 4]) == fault_op_;
  // The features follow two u16.
  if (static_cast<std::uint8_t>(peer.out[begin + 4]) ==
          static_cast<std::uint8_t>(BinaryOp::hello) &&
      hides_subscriptions_)
    peer.out[begin + frame_header_bytes + 4] &= static_cast<char>(~feature_subscribe);
  if (here && fault_ == Fault::foreign_answer) peer.out[begin + 8] ^= 0x40;
  if (here && fault_ == Fault::flipped_bit) peer.out.back() ^= 1;
}

void FakeServer::wake(Peer& peer) {
  for (auto pending = peer.parked.begin(); pending != peer.parked.end();) {
    const auto next = std::next(pending);
    auto step_first = BinaryCall::Next::route;
    const Subscription* const subscription = pending->call.subscription();
    if (subscription != nullptr && (pending->paused || subscription->ending))
      step_first = push(peer, *pending);
    if (step(peer, pending, step_first)) peer.idle.splice(peer.idle.end(), peer.parked, pending);
    pending = next;
  }
}

bool FakeServer::flush(Peer& peer) {
  if (!peer.out.empty()) {
    const ssize_t n =
        ::send(peer.descriptor, peer.out.data(), peer.out.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN) return false;
    if (n > 0) peer.out.erase(0, static_cast<std::size_t>(n));
  }
  return !(peer.closing && peer.out.empty());
}

}  // namespace pawl

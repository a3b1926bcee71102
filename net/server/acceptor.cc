// SPDX-License-Identifier: Apache-2.0
#include "net/server/acceptor.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "core/base/check.h"
#include "net/connection/connection_limits.h"

namespace pawl {

Acceptor::Acceptor(Ring& ring, const ConnectionContext& context,
                   std::vector<std::atomic<std::uint32_t>>& open_counts, Connections& connections,
                   ShardLoop& loop, ShardId self)
    : ring_(&ring),
      context_(&context),
      open_counts_(&open_counts),
      connections_(&connections),
      loop_(&loop),
      self_(raw(self)) {}

void Acceptor::begin(const std::vector<ListeningSocket>& sockets, int own,
                     const std::atomic<bool>& admits) {
  CHECK(listeners_.empty(), "the acceptor begins once");
  for (const ListeningSocket& socket : sockets) listeners_.push_back({.socket = socket});
  admits_ = &admits;
  if (own >= 0) take(own, Protocol::declared);
}

void Acceptor::accept_if_admitted() {
  if (admits_ == nullptr || !admits_->load(std::memory_order_acquire)) return;
  admits_ = nullptr;
  for (std::uint32_t i = 0; i < listeners_.size(); ++i) arm(i);
}

void Acceptor::arm(std::uint32_t listener) {
  listeners_[listener].armed = true;
  io_uring_sqe* const sqe = ring_->sqe({.op = RingOp::accept, .index = listener});
  io_uring_prep_multishot_accept(sqe, listeners_[listener].socket.fd, nullptr, nullptr,
                                 SOCK_CLOEXEC);
}

void Acceptor::complete(RingTag tag, std::int32_t result, std::uint32_t flags) {
  CHECK(tag.index < listeners_.size(), "listener {} of {}", tag.index, listeners_.size());
  Listener& listener = listeners_[tag.index];
  const bool exhausted =
      result == -EMFILE || result == -ENFILE || result == -ENOBUFS || result == -ENOMEM;
  if (result >= 0) take(result, listener.socket.protocol);  // else the peer sees the failure
  if ((flags & IORING_CQE_F_MORE) != 0) return;
  listener.armed = false;
  if (listener.stopped) {
    end(listener.socket);
  } else if (exhausted) {
    postponed_.push_back(tag.index);  // arming again at once would fail again
  } else {
    arm(tag.index);
  }
}

// Gives a new connection to the shard that has the fewest.
void Acceptor::take(int fd, Protocol protocol) {
  const std::optional<std::uint32_t> peer_slot = context_->limits_of(protocol).enter(peer_of(fd));
  if (!peer_slot) {
    ::close(fd);
    return;
  }
  auto& counts = *open_counts_;
  std::uint32_t target = self_;
  for (std::uint32_t i = 0; i < counts.size() && stage_ == Stage::serving; ++i) {
    if (counts[i].load(std::memory_order_relaxed) < counts[target].load(std::memory_order_relaxed))
      target = i;
  }
  counts[target].fetch_add(1, std::memory_order_relaxed);
  if (target == self_) {
    connections_->add(fd, protocol, *peer_slot);
  } else {
    loop_->send_connection(ShardId{static_cast<std::uint8_t>(target)},
                           Connections::number_of(fd, protocol, *peer_slot));
  }
}

void Acceptor::second_passed() {
  for (const std::uint32_t listener : std::exchange(postponed_, {})) {
    if (!listeners_[listener].stopped) arm(listener);
  }
}

void Acceptor::stop(Stage stage) {
  stage_ = stage;
  admits_ = nullptr;
  for (std::uint32_t i = 0; i < listeners_.size(); ++i) {
    Listener& listener = listeners_[i];
    const bool goes_on = listener.socket.protocol == Protocol::admin && stage == Stage::draining;
    if (listener.stopped || goes_on) continue;
    listener.stopped = true;
    if (listener.armed) {
      ring_->cancel({.op = RingOp::accept, .index = i});
    } else {
      end(listener.socket);
    }
  }
}

bool Acceptor::ended() const {
  return std::ranges::none_of(listeners_, [this](const Listener& listener) {
    return listener.armed && (listener.stopped || stage_ == Stage::serving);
  });
}

void Acceptor::end(const ListeningSocket& socket) {
  if (socket.handed) return;
  ::fcntl(socket.fd, F_SETFL, ::fcntl(socket.fd, F_GETFL) | O_NONBLOCK);
  for (int fd = 0; fd >= 0;) {
    fd = ::accept4(socket.fd, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd >= 0) take(fd, socket.protocol);
  }
  ::shutdown(socket.fd, SHUT_RDWR);
}

}  // namespace pawl

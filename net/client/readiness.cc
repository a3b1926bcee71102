// SPDX-License-Identifier: Apache-2.0
#include "net/client/readiness.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "core/base/check.h"
#include "net/client/socket.h"

namespace pawl::client {

static_assert(EPOLLIN == POLLIN && EPOLLOUT == POLLOUT);

Readiness::Readiness()
    : descriptor_(::epoll_create1(EPOLL_CLOEXEC)),
      wakeup_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  epoll_event event{};
  event.events = EPOLLIN;
  if (descriptor_ < 0 || wakeup_ < 0 ||
      ::epoll_ctl(descriptor_, EPOLL_CTL_ADD, wakeup_, &event) < 0)
    error_ = errno;
}

Readiness::~Readiness() {
  if (wakeup_ >= 0) ::close(wakeup_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

void Readiness::watch(int socket, short events) {
  CHECK(error_ == 0, "errno {}", error_);
  if (socket == socket_ && events == events_) return;
  epoll_event event{};
  // A closed socket has left the epoll set: Socket::close() takes it out.
  if (socket_ >= 0 && socket_ != socket) ::epoll_ctl(descriptor_, EPOLL_CTL_DEL, socket_, &event);
  event.events = static_cast<std::uint32_t>(events);
  if (socket >= 0 && ::epoll_ctl(descriptor_, EPOLL_CTL_MOD, socket, &event) < 0)
    ::epoll_ctl(descriptor_, EPOLL_CTL_ADD, socket, &event);
  socket_ = socket;
  events_ = events;
}

void Readiness::forget() { socket_ = -1; }

void Readiness::wake() const {
  const std::uint64_t one = 1;
  // It fails only when the counter is full, and then the descriptor is readable.
  [[maybe_unused]] const ssize_t written = ::write(wakeup_, &one, sizeof one);
}

void Readiness::clear() const {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(wakeup_, &count, sizeof count);
}

void Readiness::wait_until(std::chrono::steady_clock::time_point deadline) const {
  constexpr std::chrono::microseconds wait_max = std::chrono::hours(1);
  const auto now = std::chrono::steady_clock::now();
  if (deadline <= now) return;
  const bool far = deadline > now + wait_max;
  wait_for(descriptor_, POLLIN,
           far ? wait_max : std::chrono::ceil<std::chrono::microseconds>(deadline - now));
}

}  // namespace pawl::client

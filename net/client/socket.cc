// SPDX-License-Identifier: Apache-2.0
#include "net/client/socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "core/check.h"
#include "net/client/loopback.h"

namespace pawl::client {
namespace {

constexpr std::size_t receive_bytes_min = 64 << 10;
constexpr std::size_t buffer_keep_max = 4 << 20;

using Clock = std::chrono::steady_clock;

int wait_for(int descriptor, short events, std::chrono::microseconds timeout) {
  pollfd entry{.fd = descriptor, .events = events, .revents = 0};
  const auto us = std::max<std::int64_t>(timeout.count(), 0);
  const timespec limit{.tv_sec = us / 1'000'000, .tv_nsec = us % 1'000'000 * 1000};
  return ::ppoll(&entry, 1, &limit, nullptr);
}

// 0, or an errno.
int finish_connect(int descriptor, Clock::time_point deadline) {
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::microseconds>(deadline - Clock::now());
    const int ready = wait_for(descriptor, POLLOUT, left);
    if (ready == 0) return ETIMEDOUT;
    if (ready < 0 && errno != EINTR) return errno;
    if (ready > 0) break;
  }
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size) < 0 ? errno : error;
}

// A descriptor, or a negative errno.
int try_address(const addrinfo& address, Clock::time_point deadline) {
  const int descriptor = ::socket(
      address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, address.ai_protocol);
  if (descriptor < 0) return -errno;
  const int on = 1;
  avoid_pacing(descriptor, *address.ai_addr);
  int error = ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) < 0 ? errno : 0;
  if (error == 0 && ::connect(descriptor, address.ai_addr, address.ai_addrlen) < 0) {
    error = errno == EINPROGRESS ? finish_connect(descriptor, deadline) : errno;
  }
  if (error == 0) return descriptor;
  ::close(descriptor);
  return -error;
}

}  // namespace

std::expected<Socket, int> Socket::connect(const std::string& host, std::uint16_t port,
                                           std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
    return std::unexpected(EADDRNOTAVAIL);
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);
  int result = -EADDRNOTAVAIL;
  for (const addrinfo* address = found; address && result < 0; address = address->ai_next) {
    result = try_address(*address, deadline);
  }
  if (result < 0) return std::unexpected(-result);
  return Socket(result);
}

Socket::Socket(Socket&& other) noexcept { *this = std::move(other); }

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this == &other) return *this;
  close();
  descriptor_ = std::exchange(other.descriptor_, -1);
  secure_ = std::move(other.secure_);
  out_ = std::move(other.out_);
  sent_ = std::exchange(other.sent_, 0);
  in_ = std::move(other.in_);
  taken_ = std::exchange(other.taken_, 0);
  filled_ = std::exchange(other.filled_, 0);
  return *this;
}

Socket::~Socket() { close(); }

bool Socket::start_tls(const TlsOptions& options, std::chrono::milliseconds timeout) {
  CHECK(secure_ == nullptr, "TLS is started twice");
  CHECK(out_.empty(), "TLS is started after {} bytes were sent", out_.size());
  CHECK(filled_ == 0, "TLS is started after {} bytes were received", filled_);
  secure_ = Secure::start(descriptor_, options, timeout);
  return secure_ != nullptr;
}

void Socket::close() {
  secure_.reset();
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

// 0: the kernel accepts no bytes now.
std::expected<std::size_t, int> Socket::send_some(std::string_view bytes) {
  if (secure_) return secure_->write(bytes);
  while (true) {
    const ssize_t n = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) return static_cast<std::size_t>(n);
    if (errno == EAGAIN) return 0;
    if (errno != EINTR) return std::unexpected(errno);
  }
}

// 0: no bytes are available now.
std::expected<std::size_t, int> Socket::receive_some(std::span<char> into) {
  if (secure_) return secure_->read(into);
  while (true) {
    const ssize_t n = ::recv(descriptor_, into.data(), into.size(), MSG_DONTWAIT);
    if (n > 0) return static_cast<std::size_t>(n);
    if (n == 0) return std::unexpected(ECONNRESET);
    if (errno == EAGAIN) return 0;
    if (errno != EINTR) return std::unexpected(errno);
  }
}

SystemResult Socket::flush() {
  while (unsent()) {
    const auto sent = send_some(std::string_view(out_).substr(sent_));
    if (!sent) return std::unexpected(sent.error());
    sent_ += *sent;
    CHECK(sent_ <= out_.size(), "{} bytes are sent of {}", sent_, out_.size());
    if (*sent > 0) continue;
    // Sent bytes are dropped here: a client that keeps appending never empties the buffer.
    if (sent_ > out_.size() / 2) out_.erase(0, std::exchange(sent_, 0));
    return {};
  }
  sent_ = 0;
  if (out_.capacity() > buffer_keep_max) std::string().swap(out_);
  out_.clear();
  return {};
}

std::expected<bool, int> Socket::receive(std::size_t bytes) {
  CHECK(taken_ <= filled_, "{} bytes are consumed of {}", taken_, filled_);
  const std::size_t held = filled_ - taken_;
  if (taken_ > 0) {
    std::memmove(in_.data(), in_.data() + taken_, held);
    taken_ = 0;
    filled_ = held;
  }
  const std::size_t wanted = std::max(held + receive_bytes_min, bytes);
  if (in_.size() < wanted) in_.resize(wanted);
  if (wanted < buffer_keep_max && in_.size() > buffer_keep_max) {
    in_.resize(wanted);
    in_.shrink_to_fit();
  }
  const std::size_t before = filled_;
  while (true) {
    const auto got = receive_some(std::span(in_).subspan(filled_));
    if (!got) return std::unexpected(got.error());
    filled_ += *got;
    CHECK(filled_ <= in_.size(), "{} bytes are received into {}", filled_, in_.size());
    // Bytes buffered inside TLS must be read now: a wait on the socket would not see them.
    const std::size_t inside = secure_ ? secure_->pending() : 0;
    if (inside == 0) return filled_ > before;
    if (in_.size() < filled_ + inside) in_.resize(filled_ + inside);
  }
}

SystemResult Socket::wait(std::chrono::microseconds timeout) {
  const short events = static_cast<short>(POLLIN | (unsent() ? POLLOUT : 0));
  if (wait_for(descriptor_, events, timeout) < 0 && errno != EINTR) return std::unexpected(errno);
  return {};
}

}  // namespace pawl::client

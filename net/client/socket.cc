// SPDX-License-Identifier: Apache-2.0
#include "net/client/socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "core/base/check.h"
#include "net/client/loopback.h"

namespace pawl::client {
namespace {

constexpr std::size_t receive_bytes_min = 64 << 10;
// With less, a rest of a frame before the free space would make the buffer grow at some time.
constexpr std::size_t buffer_bytes_min = 2 * receive_bytes_min;
constexpr std::size_t buffer_keep_max = 4 << 20;

}  // namespace

int wait_for(int descriptor, short events, std::chrono::microseconds timeout) {
  pollfd entry{.fd = descriptor, .events = events, .revents = 0};
  const auto us = std::max<std::int64_t>(timeout.count(), 0);
  const timespec limit{.tv_sec = us / 1'000'000, .tv_nsec = us % 1'000'000 * 1000};
  return ::ppoll(&entry, 1, &limit, nullptr);
}

namespace {

std::expected<std::vector<Address>, int> unix_address(const std::string& path) {
  sockaddr_un name{};
  if (path.size() >= sizeof name.sun_path) return std::unexpected(ENAMETOOLONG);
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, path.data(), path.size());
  Address address{.size = sizeof name};
  std::memcpy(&address.storage, &name, sizeof name);
  return std::vector{address};
}

}  // namespace

std::expected<std::vector<Address>, int> resolve(const std::string& host, std::uint16_t port) {
  if (host.starts_with('/')) return unix_address(host);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0)
    return std::unexpected(EADDRNOTAVAIL);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list(found, &::freeaddrinfo);
  std::vector<Address> addresses;
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    Address& address = addresses.emplace_back();
    CHECK(entry->ai_addrlen <= sizeof address.storage, "{} bytes", entry->ai_addrlen);
    std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
    address.size = entry->ai_addrlen;
  }
  if (addresses.empty()) return std::unexpected(EADDRNOTAVAIL);
  return addresses;
}

std::expected<Socket, int> Socket::open(const Address& address) {
  CHECK(address.size > 0, "an address of no bytes");
  const auto& name = reinterpret_cast<const sockaddr&>(address.storage);
  Socket made(::socket(name.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (made.descriptor_ < 0) return std::unexpected(errno);
  const int on = 1;
  avoid_pacing(made.descriptor_, name);
  if (name.sa_family != AF_UNIX &&
      ::setsockopt(made.descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) < 0)
    return std::unexpected(errno);
  if (::connect(made.descriptor_, &name, address.size) < 0 && errno != EINPROGRESS)
    return std::unexpected(errno);
  return made;
}

std::expected<bool, int> Socket::connected() const {
  const int ready = wait_for(descriptor_, POLLOUT, std::chrono::microseconds(0));
  if (ready < 0 && errno != EINTR) return std::unexpected(errno);
  if (ready <= 0) return false;
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &error, &size) < 0) error = errno;
  if (error != 0) return std::unexpected(error);
  return true;
}

Socket::Socket(Socket&& other) noexcept { *this = std::move(other); }

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this == &other) return *this;
  close();
  descriptor_ = std::exchange(other.descriptor_, -1);
  epoll_ = std::exchange(other.epoll_, -1);
  secure_ = std::move(other.secure_);
  out_ = std::move(other.out_);
  sent_ = std::exchange(other.sent_, 0);
  in_ = std::move(other.in_);
  taken_ = std::exchange(other.taken_, 0);
  filled_ = std::exchange(other.filled_, 0);
  return *this;
}

Socket::~Socket() { close(); }

bool Socket::begin_tls(const TlsOptions& options) {
  CHECK(secure_ == nullptr, "TLS is started twice");
  CHECK(out_.empty(), "TLS is started after {} bytes were sent", out_.size());
  CHECK(filled_ == 0, "TLS is started after {} bytes were received", filled_);
  secure_ = Secure::begin(descriptor_, options);
  return secure_ != nullptr;
}

Handshake Socket::handshake() {
  CHECK(secure_ != nullptr, "a handshake without TLS");
  return secure_->handshake();
}

void Socket::close() {
  secure_.reset();
  const int epoll = std::exchange(epoll_, -1);
  if (descriptor_ < 0) return;
  epoll_event none{};
  if (epoll >= 0) ::epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor_, &none);
  // The peer sees the end, although a child of fork() may have a copy.
  ::shutdown(descriptor_, SHUT_RDWR);
  ::close(std::exchange(descriptor_, -1));
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
  if (in_.size() < wanted) in_.resize(std::max(wanted, buffer_bytes_min));
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

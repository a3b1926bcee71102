// SPDX-License-Identifier: Apache-2.0
#include "bench/load_channel.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/check.h"
#include "net/client/loopback.h"
#include "net/client/secure.h"
#include "net/client/socket.h"

namespace pawl::load {
namespace {

// A signal restarts the wait: the response to a request tells whether the queue is created.
bool wait_for(int socket, short events) {
  pollfd entry{.fd = socket, .events = events, .revents = 0};
  int ready = 0;
  do {
    ready = ::poll(&entry, 1, Channel::patience_ms);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

bool connect_within_patience(int socket, const addrinfo& to) {
  if (::connect(socket, to.ai_addr, to.ai_addrlen) == 0) return true;
  if (errno != EINPROGRESS) return false;
  if (!wait_for(socket, POLLOUT)) {
    errno = ETIMEDOUT;
    return false;
  }
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return false;
  errno = error;
  return error == 0;
}

// A connected, non-blocking socket, or -errno.
int connect_to_path(const std::string& path) {
  const auto addresses = client::resolve(path, 0);
  if (!addresses) return -addresses.error();
  const client::Address& address = addresses->front();
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return -errno;
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address.storage), address.size) == 0)
    return socket;
  const int error = errno;
  ::close(socket);
  return -error;
}

std::string unreachable(const Target& target, int error) {
  const bool path = target.host.starts_with('/');
  return "cannot reach " + target.host + (path ? "" : ":" + target.port) + ": " +
         std::strerror(error) + ". Is `pawl serve` running there?";
}

// The same for any target.
std::expected<int, std::string> connect_to(const Target& target) {
  if (target.host.starts_with('/')) {
    const int socket = connect_to_path(target.host);
    if (socket < 0) return std::unexpected(unreachable(target, -socket));
    return socket;
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(target.host.c_str(), target.port.c_str(), &hints, &found);
      error != 0)
    return std::unexpected(target.host + ": " + ::gai_strerror(error));
  int socket = -1;
  int error = 0;
  for (const addrinfo* a = found; a && socket < 0; a = a->ai_next) {
    socket = ::socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
    if (socket < 0) continue;
    avoid_pacing(socket, *a->ai_addr);
    if (connect_within_patience(socket, *a)) continue;
    error = errno;
    ::close(socket);
    socket = -1;
  }
  ::freeaddrinfo(found);
  if (socket < 0) return std::unexpected(unreachable(target, error));
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

// Null: TLS failed, or one step took longer than the patience.
std::unique_ptr<client::Secure> shake_hands(int socket, const client::TlsOptions& options) {
  std::unique_ptr<client::Secure> secure = client::Secure::begin(socket, options);
  while (secure) {
    const client::Handshake state = secure->handshake();
    if (state == client::Handshake::done) break;
    const short events = state == client::Handshake::want_write ? POLLOUT : POLLIN;
    if (state == client::Handshake::failed || !wait_for(socket, events)) secure.reset();
  }
  return secure;
}

}  // namespace

Channel::Channel(int socket) : socket_(socket) {}

Channel::Channel(Channel&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), secure_(std::move(other.secure_)) {}

Channel::~Channel() {
  secure_.reset();  // it says goodbye on the socket
  if (socket_ >= 0) ::close(socket_);
}

std::expected<Channel, std::string> Channel::open(const Target& target) {
  const auto socket = connect_to(target);
  if (!socket) return std::unexpected(socket.error());
  Channel made(*socket);
  if (!target.tls) return made;
  made.secure_ = shake_hands(*socket, {.host = target.host,
                                       .ca_file = target.ca_file,
                                       .protocol = target.http ? "http/1.1" : "pawl"});
  if (made.secure_) return made;
  return std::unexpected("no TLS connection to " + target.host + ":" + target.port +
                         ". Does it speak TLS, and is its certificate for this host from a CA "
                         "of this system or of --tls-ca?");
}

std::expected<std::size_t, int> Channel::write(std::string_view bytes) {
  if (secure_) return secure_->write(bytes);
  ssize_t n = 0;
  do {
    n = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (n < 0 && errno == EINTR);
  if (n < 0 && errno == EAGAIN) return 0;
  if (n < 0) return std::unexpected(errno);
  CHECK(static_cast<std::size_t>(n) <= bytes.size(), "{} bytes are sent of {}", n, bytes.size());
  return static_cast<std::size_t>(n);
}

std::expected<std::size_t, int> Channel::read(std::span<char> into) {
  CHECK(!into.empty(), "a read without space");
  if (secure_) return secure_->read(into);
  const ssize_t n = ::recv(socket_, into.data(), into.size(), MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  if (n <= 0) return std::unexpected(n == 0 ? 0 : errno);
  return static_cast<std::size_t>(n);
}

bool Channel::pending() const { return secure_ && secure_->pending() > 0; }

bool Channel::send_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = write(bytes);
    if (!sent) return false;
    bytes.remove_prefix(*sent);
    if (*sent == 0 && !wait_for(socket_, POLLOUT)) return false;
  }
  return true;
}

bool Channel::receive_some(std::string& into) {
  char buffer[16 << 10];
  while (true) {
    const auto n = read(buffer);
    if (!n) return false;
    into.append(buffer, *n);
    if (*n > 0) return true;
    if (!wait_for(socket_, POLLIN)) return false;
  }
}

}  // namespace pawl::load

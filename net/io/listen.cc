// SPDX-License-Identifier: Apache-2.0
#include "net/io/listen.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "core/base/check.h"

namespace pawl {
namespace {

constexpr int bind_pause_us = 20'000;
constexpr int bind_tries = 100;

bool is_loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET6) {
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
  }
  return (ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr) >> 24) == 127;
}

bool is_port(std::string_view text) {
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, port);
  return error == std::errc() && stop == end;
}

void set_reuse(int fd, int on) { setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on); }

void set_options(int fd) {
  const int on = 1;
  set_reuse(fd, on);
  // Accepted sockets inherit these: a peer that vanishes is noticed within two minutes.
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  const int idle_s = 60, interval_s = 15, probes = 4;
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

// Accepted sockets inherit the listener's congestion control. Loopback loses no packets, but a
// system whose default is BBR paces its connections and, every ten seconds, limits each to four
// packets for 200 ms. Reno is in every kernel, and every user may choose it. For other addresses
// the system's default is right.
void avoid_pacing(int fd) {
  constexpr char reno[] = "reno";
  setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, reno, sizeof reno - 1);
}

// Reserves the port for this socket. SO_REUSEADDR is necessary because of connections of an earlier
// server. With it bind() succeeds although another socket has the port, and only listen() fails. So
// the socket listens for a moment, and from then on refuses to share the port. A port chosen by the
// kernel is free, and this would lose it.
bool reserve_port(int fd, const addrinfo& wanted) {
  const in_port_t port = wanted.ai_family == AF_INET6
                             ? reinterpret_cast<const sockaddr_in6*>(wanted.ai_addr)->sin6_port
                             : reinterpret_cast<const sockaddr_in*>(wanted.ai_addr)->sin_port;
  if (port == 0) return true;
  if (listen(fd, 1) != 0) return false;
  set_reuse(fd, 0);
  return shutdown(fd, SHUT_RDWR) == 0;
}

// Returns a descriptor, or -errno.
int bound_socket(const addrinfo& wanted) {
  const int fd = socket(wanted.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  set_options(fd);
  if (is_loopback(wanted.ai_addr)) avoid_pacing(fd);
  if (bind(fd, wanted.ai_addr, wanted.ai_addrlen) == 0 && reserve_port(fd, wanted)) return fd;
  const int error = errno;
  ::close(fd);
  return -error;
}

std::string advice_for(int error, const std::string& host) {
  switch (error) {
    case EADDRINUSE:
      return "Another server, or another flag of this one, uses the port; stop that server, or "
             "choose another port (port 0 picks a free one)";
    case EADDRNOTAVAIL:
      return fmt::format(
          "{} is not an address of this machine; give one that `ip addr` shows, or 127.0.0.1",
          host);
    case EACCES:
      return "Ports below 1024 need root or CAP_NET_BIND_SERVICE; choose a port from 1024 on";
    default:
      return "Choose another address or port";
  }
}

}  // namespace

std::string address_text(int fd) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  CHECK(getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &length) == 0, "getsockname: {}",
        std::strerror(errno));
  char host[INET6_ADDRSTRLEN] = "";
  if (storage.ss_family == AF_INET6) {
    const auto& address = reinterpret_cast<const sockaddr_in6&>(storage);
    inet_ntop(AF_INET6, &address.sin6_addr, host, sizeof host);
    return fmt::format("[{}]:{}", host, ntohs(address.sin6_port));
  }
  const auto& address = reinterpret_cast<const sockaddr_in&>(storage);
  inet_ntop(AF_INET, &address.sin_addr, host, sizeof host);
  return fmt::format("{}:{}", host, ntohs(address.sin_port));
}

namespace {

std::string unguarded(const std::string& flag, const std::string& text) {
  return fmt::format(
      "cannot bind --{} {} without credentials: every machine that reaches it "
      "could read and delete messages. Bind 127.0.0.1, require signatures with --auth sigv4 --keys "
      "FILE, or pass --insecure-no-auth to accept the risk",
      flag, text);
}

}  // namespace

std::expected<void, std::string> adopt_socket(const std::string& flag, int fd,
                                              const std::string& address, bool guarded) {
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  const auto* const where = reinterpret_cast<const sockaddr*>(&bound);
  CHECK(getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &length) == 0, "getsockname: {}",
        std::strerror(errno));
  const bool local = is_loopback(where);
  if (!guarded && !local) return std::unexpected(unguarded(flag, address));
  set_options(fd);
  if (local) avoid_pacing(fd);
  return {};
}

std::expected<int, std::string> bind_to(const std::string& flag, const std::string& text,
                                        bool guarded) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) {
    return std::unexpected(
        fmt::format("--{} {}: not of the form ADDR:PORT; for example 127.0.0.1:9324", flag, text));
  }
  std::string host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const std::string port = text.substr(colon + 1);
  if (!is_port(port)) {  // getaddrinfo() would take its lower 16 bits
    return std::unexpected(fmt::format(
        "cannot bind --{} {}: port {} is not a number from 0 to 65535; give one that is "
        "free (port 0 picks a free one)",
        flag, text, port));
  }
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) {
    return std::unexpected(fmt::format(
        "cannot bind --{} {}: {} has no address; give an address of this machine that `ip addr` "
        "shows, or 127.0.0.1",
        flag, text, host));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> held(found, freeaddrinfo);
  if (!guarded && !is_loopback(found->ai_addr)) {
    return std::unexpected(unguarded(flag, text));
  }
  int error = 0;
  // A killed server keeps the port until the kernel has ended its pending operations.
  for (int i = 0; i < bind_tries; ++i) {
    if (i != 0) usleep(bind_pause_us);
    const int fd = bound_socket(*found);
    if (fd >= 0) return fd;
    error = -fd;
    if (error != EADDRINUSE) break;
  }
  return std::unexpected(fmt::format("cannot bind --{} {}: {}. {}", flag, text,
                                     std::strerror(error), advice_for(error, host)));
}

int listen_on(int fd, int backlog) {
  set_reuse(fd, 1);
  return listen(fd, backlog) == 0 ? 0 : errno;
}

}  // namespace pawl

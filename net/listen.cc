#include "net/listen.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

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

}  // namespace

std::string address_text(int fd) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &length);
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

std::expected<int, std::string> bind_to(const std::string& flag, const std::string& text,
                                        bool guarded) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) {
    return std::unexpected(
        fmt::format("--{} {}: not of the form ADDR:PORT; for example 127.0.0.1:9324", flag, text));
  }
  std::string host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), text.substr(colon + 1).c_str(), &hints, &found);
      error != 0) {
    return std::unexpected(fmt::format("--{} {}: {}; give an address and a port of this machine",
                                       flag, text, gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> held(found, freeaddrinfo);
  if (!guarded && !is_loopback(found->ai_addr)) {
    return std::unexpected(fmt::format(
        "error[B2103]: cannot bind --{} {} without credentials: anyone who reaches it could {}. "
        "Bind "
        "127.0.0.1, {}or pass --insecure-no-auth (do not)",
        flag, text, flag == "admin" ? "see what is going on" : "read and delete messages",
        flag == "admin" ? "" : "ask for signatures with --auth sigv4 --keys FILE, "));
  }
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return std::unexpected(fmt::format("socket: {}", std::strerror(errno)));
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // What is accepted inherits these: a peer that has gone without a word is noticed within two minutes.
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  const int idle_s = 60, interval_s = 15, probes = 4;
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  int bound = bind(fd, found->ai_addr, found->ai_addrlen);
  // A killed server has the port until the kernel has ended what it had under way.
  for (int i = 0; i < bind_tries && bound != 0 && errno == EADDRINUSE; ++i) {
    usleep(bind_pause_us);
    bound = bind(fd, found->ai_addr, found->ai_addrlen);
  }
  if (bound != 0) {
    auto error = std::unexpected(
        fmt::format("cannot bind --{} {}: {}. Another server may have the port; stop it, or choose "
                    "another (port 0 picks a free one)",
                    flag, text, std::strerror(errno)));
    ::close(fd);
    return error;
  }
  return fd;
}

}  // namespace pawl

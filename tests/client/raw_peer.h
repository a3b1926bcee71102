// SPDX-License-Identifier: Apache-2.0
// The peer of one connection, byte by byte: a listening loopback socket and the accepted end.
//
// Errors: a failed system call is a CHECK. Reads time out after ten seconds.
// Owner:  the test's thread.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/check.h"
#include "net/client/socket.h"

namespace pawl {

class RawPeer {
 public:
  RawPeer() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    CHECK(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0);
    CHECK(::listen(listener_, 1) == 0);
    CHECK(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port_ = ntohs(address.sin_port);
  }
  ~RawPeer() {
    close();
    ::close(listener_);
  }
  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;

  std::uint16_t port() const { return port_; }
  int descriptor() const { return fd_; }
  // Call it after the client has connected.
  void accept() {
    fd_ = ::accept(listener_, nullptr, nullptr);
    CHECK(fd_ >= 0);
    const timeval limit{.tv_sec = 10, .tv_usec = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  void write(std::string_view bytes) const {
    CHECK(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(bytes.size()));
  }
  // Returns fewer bytes if the client has closed.
  std::string read(std::size_t count) const {
    std::string bytes(count, '\0');
    std::size_t got = 0;
    for (ssize_t n = 1; got < count && n > 0; got += n > 0 ? static_cast<std::size_t>(n) : 0)
      n = ::recv(fd_, bytes.data() + got, count - got, 0);
    bytes.resize(got);
    return bytes;
  }
  // The bytes that are there now.
  std::string read_now() const {
    std::string bytes(1 << 20, '\0');
    const ssize_t n = ::recv(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    bytes.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return bytes;
  }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int listener_;
  int fd_ = -1;
  std::uint16_t port_ = 0;
};

// A socket that is connected to the peer, which has accepted it.
inline client::Socket connect_socket(RawPeer& peer) {
  const auto addresses = client::resolve("127.0.0.1", peer.port());
  CHECK(addresses && addresses->size() == 1, "{} addresses", addresses ? addresses->size() : 0);
  auto made = client::Socket::open(addresses->front());
  CHECK(made, "errno {}", made.error());
  peer.accept();
  for (;;) {
    const auto connected = made->connected();
    CHECK(connected, "errno {}", connected.error());
    if (*connected) return std::move(*made);
  }
}

}  // namespace pawl

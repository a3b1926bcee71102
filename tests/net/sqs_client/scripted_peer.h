// SPDX-License-Identifier: Apache-2.0
// A server of one test that behaves as its script says, on a free loopback port.
//
// Owner: the test; connections are served one after another by the peer's thread.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace pawl {

class ScriptedPeer {
 public:
  // The script serves one connection and may return at any time; the peer closes it then.
  using Script = std::function<void(int connection)>;

  explicit ScriptedPeer(Script script) : script_(std::move(script)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const name = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_, name, size), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    EXPECT_EQ(::getsockname(listener_, name, &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~ScriptedPeer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  ScriptedPeer(const ScriptedPeer&) = delete;
  ScriptedPeer& operator=(const ScriptedPeer&) = delete;

  std::uint16_t port() const { return port_; }
  std::string url(const char* scheme = "http") const {
    return std::string(scheme) + "://127.0.0.1:" + std::to_string(port_);
  }
  int connections() const { return connections_.load(std::memory_order_relaxed); }

 private:
  void serve() {
    while (true) {
      const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) return;
      connections_.fetch_add(1, std::memory_order_relaxed);
      const timeval limit{.tv_sec = 60, .tv_usec = 0};
      ::setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
      script_(connection);
      ::close(connection);
    }
  }

  Script script_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<int> connections_{0};
  std::thread thread_;
};

// One request with Content-Length; empty: the connection ended before.
inline std::string read_request(int connection) {
  constexpr std::string_view name = "Content-Length: ";
  std::string text;
  char bytes[16384];
  while (true) {
    const std::size_t end = text.find("\r\n\r\n");
    if (end != text.npos &&
        text.size() >= end + 4 + std::stoul(text.substr(text.find(name) + name.size())))
      return text;
    const ssize_t n = ::recv(connection, bytes, sizeof bytes, 0);
    if (n <= 0) return {};
    text.append(bytes, static_cast<std::size_t>(n));
  }
}

// False: the peer has closed the connection.
inline bool write_all(int connection, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

// Reads and discards until the peer closes the connection.
inline void wait_for_end(int connection) {
  char bytes[16384];
  while (::recv(connection, bytes, sizeof bytes, 0) > 0) {
  }
}

}  // namespace pawl

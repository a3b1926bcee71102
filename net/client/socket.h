// SPDX-License-Identifier: Apache-2.0
// A connected, non-blocking TCP socket, with optional TLS, and its two buffers.
//
//   open() --connected()--> true [--begin_tls(), handshake()--> done]: ready to send and receive
//
// Bytes to send are appended to out(); flush() sends as many as the kernel accepts. Received bytes
// stay in in() until consume()d; views into them are valid until the next receive().
//
// Errors: errno; ECONNRESET if the peer has closed the connection.
// Owner:  the client's one thread.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/client/secure.h"

namespace pawl::client {

using SystemResult = std::expected<void, int>;

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

// The addresses of a host, at least one; of a path, which begins with '/', that of its Unix socket.
// Only a path or a numeric host is resolved without waiting: the name servers may take seconds.
// Errors: EADDRNOTAVAIL, ENAMETOOLONG.
std::expected<std::vector<Address>, int> resolve(const std::string& host, std::uint16_t port);

// Waits for `events` of poll(2), at most `timeout`. The number of ready descriptors, or -1 with
// errno.
int wait_for(int descriptor, short events, std::chrono::microseconds timeout);

class Socket {
 public:
  // Begins to connect, without waiting.
  static std::expected<Socket, int> open(const Address& address);
  // False: the connection is not established yet; it will be when the socket is writable.
  std::expected<bool, int> connected() const;
  // Call it before any send. False: the options cannot be used.
  bool begin_tls(const TlsOptions& options);
  Handshake handshake();
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  int descriptor() const { return descriptor_; }
  // An epoll descriptor that the socket is in; close() takes it out. A copy of the socket in a
  // child of fork() would otherwise keep it there, always ready.
  void watched_by(int epoll) { epoll_ = epoll; }
  void close();

  std::string& out() { return out_; }
  bool unsent() const { return sent_ < out_.size(); }
  SystemResult flush();

  std::string_view in() const { return {in_.data() + taken_, filled_ - taken_}; }
  void consume(std::size_t bytes) { taken_ += bytes; }
  // Makes space for `bytes` unconsumed bytes, and reads the available bytes without waiting.
  // False: no bytes were available.
  std::expected<bool, int> receive(std::size_t bytes);

  // Sleeps until the socket is readable, or writable while bytes are unsent.
  SystemResult wait(std::chrono::microseconds timeout);

 private:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  std::expected<std::size_t, int> send_some(std::string_view bytes);
  std::expected<std::size_t, int> receive_some(std::span<char> into);

  int descriptor_ = -1;
  int epoll_ = -1;                  // -1: it is in none
  std::unique_ptr<Secure> secure_;  // null: no TLS
  std::string out_;
  std::size_t sent_ = 0;
  std::vector<char> in_;
  std::size_t taken_ = 0;
  std::size_t filled_ = 0;
};

}  // namespace pawl::client

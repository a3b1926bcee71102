// SPDX-License-Identifier: Apache-2.0
// A connected, non-blocking TCP socket, with optional TLS, and its two buffers.
//
// Bytes to send are appended to out(); flush() sends as many as the kernel accepts. Received bytes
// stay in in() until consume()d; views into them are valid until the next receive().
//
// Errors: errno; ECONNRESET if the peer has closed the connection.
// Owner:  the client's one thread.
#pragma once

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

class Socket {
 public:
  static std::expected<Socket, int> connect(const std::string& host, std::uint16_t port,
                                            std::chrono::milliseconds timeout);
  // Call it before any send. False: the handshake failed, or the certificate is untrusted.
  bool start_tls(const TlsOptions& options, std::chrono::milliseconds timeout);
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  int descriptor() const { return descriptor_; }
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
  std::unique_ptr<Secure> secure_;  // null: no TLS
  std::string out_;
  std::size_t sent_ = 0;
  std::vector<char> in_;
  std::size_t taken_ = 0;
  std::size_t filled_ = 0;
};

}  // namespace pawl::client

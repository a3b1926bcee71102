// SPDX-License-Identifier: Apache-2.0
// The socket of a load connection, plain or with TLS. It never blocks, except in the helpers for
// the greeting.
//
// Limits: connecting, the handshake and each helper wait at most patience_ms.
// Errors: readable texts from open(); errno values from write() and read(), 0 for an end of stream.
// Owner:  one load connection.
#pragma once

#include <cstddef>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "bench/load_codec.h"

namespace pawl::client {
class Secure;
}

namespace pawl::load {

class Channel {
 public:
  static constexpr int patience_ms = 5000;

  static std::expected<Channel, std::string> open(const Target& target);
  Channel(Channel&& other) noexcept;
  Channel& operator=(Channel&&) = delete;
  ~Channel();

  int descriptor() const { return socket_; }
  // Number of bytes; 0: the call would block.
  std::expected<std::size_t, int> write(std::string_view bytes);
  std::expected<std::size_t, int> read(std::span<char> into);
  bool pending() const;  // bytes are left inside TLS, which epoll does not report

  // Blocking calls for greetings. False: the connection broke or the peer is silent.
  bool send_all(std::string_view bytes);
  bool receive_some(std::string& into);

 private:
  explicit Channel(int socket);

  int socket_;
  std::unique_ptr<client::Secure> secure_;
};

}  // namespace pawl::load

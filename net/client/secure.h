// SPDX-License-Identifier: Apache-2.0
// TLS on a connected, non-blocking socket of a client.
//
//   begin() --handshake()--> want_read | want_write --handshake()--> done | failed
//
// It sends with MSG_NOSIGNAL, so that a disconnected peer never causes a SIGPIPE in the process.
//
// Limits: one received record may be buffered inside TLS: pending() reports it; poll(2) does not.
// Errors: errno; EPROTO for a failure of TLS itself.
// Owner:  its Socket.
// Source: OpenSSL 3, SSL_read(3), SSL_set1_host(3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct ssl_st;
struct ssl_ctx_st;

namespace pawl::client {

struct TlsOptions {
  std::string host;     // the certificate must be for this host
  std::string ca_file;  // PEM; empty: the system's CAs
  bool verify = true;
  std::string protocol = "pawl";  // offered by ALPN; 1 to 255 bytes
};

enum class Handshake : std::uint8_t { done, want_read, want_write, failed };

class Secure {
 public:
  // Null if the options cannot be used, for example an unreadable CA file.
  static std::unique_ptr<Secure> begin(int descriptor, const TlsOptions& options);
  // Continues the handshake without waiting. It also fails because of the certificate.
  Handshake handshake();
  ~Secure();
  Secure(const Secure&) = delete;
  Secure& operator=(const Secure&) = delete;

  // Number of bytes written or read; 0: the call would block.
  std::expected<std::size_t, int> write(std::string_view bytes);
  std::expected<std::size_t, int> read(std::span<char> into);
  std::size_t pending() const;

 private:
  Secure() = default;
  bool set_up(int descriptor, const TlsOptions& options);
  std::expected<std::size_t, int> outcome(int done, std::size_t count);

  ssl_ctx_st* context_ = nullptr;
  ssl_st* ssl_ = nullptr;
};

}  // namespace pawl::client

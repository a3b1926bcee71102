// SPDX-License-Identifier: Apache-2.0
// TLS on a connected, non-blocking socket of a client.
//
// It sends with MSG_NOSIGNAL, so that a disconnected peer never causes a SIGPIPE in the process.
//
// Limits: one received record may be buffered inside TLS: pending() reports it; poll(2) does not.
// Errors: errno; EPROTO for a failure of TLS itself.
// Owner:  its Socket.
// Source: OpenSSL 3, SSL_read(3), SSL_set1_host(3).
#pragma once

#include <chrono>
#include <cstddef>
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
};

class Secure {
 public:
  // Performs the handshake. Null if it fails, also because of the certificate.
  static std::unique_ptr<Secure> start(int descriptor, const TlsOptions& options,
                                       std::chrono::milliseconds timeout);
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

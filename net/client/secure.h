// TLS on a connected, non-blocking socket of a client.
//
// Sends with MSG_NOSIGNAL, so that the process it lives in is never signalled for a peer that has gone.
//
// Limits: one record of what has come may be inside: pending() says so, because poll(2) will not.
// Errors: errno; EPROTO where TLS itself went wrong.
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
  std::string host;     // whose certificate it must be
  std::string ca_file;  // PEM; empty: those the system trusts
  bool verify = true;
};

class Secure {
 public:
  // Shakes hands. Nothing where that failed, also because of the certificate.
  static std::unique_ptr<Secure> start(int descriptor, const TlsOptions& options,
                                       std::chrono::milliseconds timeout);
  ~Secure();
  Secure(const Secure&) = delete;
  Secure& operator=(const Secure&) = delete;

  // Bytes taken or given; 0: not without waiting.
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

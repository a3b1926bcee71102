// SPDX-License-Identifier: Apache-2.0
// TLS 1.2 and 1.3 between a connection's buffers and its protocol. It has no socket: bytes from the
// wire are fed in, bytes for the wire are taken out.
//
//   handshake --read()--> established --close()--> closed
//        \--read() returns failed--------^
//
//   feed(received) -> read(plain) until want_more      write(plain) -> out(): bytes to send
//
// Clients are not asked for certificates. No renegotiation, no early data, no compression; sessions
// are resumed by tickets, whose keys live as long as the TlsContext.
//
// Limits: a peer that rekeys without reading also makes out() grow: the owner of the connection
//         checks pending_max. OpenSSL buffers at most a record each way and frees an empty buffer.
// Errors: load() names the file and the reason. A failed handshake or record leaves an alert in
//         out().
// Owner:  a Tls belongs to its connection. A TlsContext is shared by threads, and each Tls keeps
//         its own alive, so that a newer one does not disturb it. The account outlives the Tls
//         objects that count in it; one thread uses them all.
// Source: RFC 8446, RFC 5246, RFC 7301 (ALPN); OpenSSL 3, SSL_read(3), BIO_meth_new(3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct ssl_ctx_st;
struct ssl_st;

namespace pawl {

// A certificate with its key.
class TlsContext {
 public:
  // Reads PEM files: the certificate with its intermediate certificates, and the key, which must
  // not be accessible to every user.
  static std::expected<std::shared_ptr<const TlsContext>, std::string> load(
      const std::string& certificate, const std::string& key);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  // The end of the certificate's validity, in seconds since 1970.
  std::int64_t not_after_s() const;

 private:
  friend class Tls;
  explicit TlsContext(ssl_ctx_st* context) : context_(context) {}
  ssl_ctx_st* context_;
};

// The TLS state of one connection.
class Tls {
 public:
  // Limit for out() beyond the connection's own output: more than any handshake, alert or key
  // update needs.
  static constexpr std::size_t pending_max = 64 << 10;

  enum class Read : std::uint8_t {
    data,       // `count` bytes are in `into`; there may be more
    want_more,  // all fed bytes are used up
    closed,     // the peer has closed its side
    failed,     // not TLS, or not ours; out() has the alert
  };

  // `protocol` is a literal: a client that offers protocols (ALPN) must offer this one too.
  // `account` counts the bytes that OpenSSL holds for this and other connections.
  Tls(const TlsContext& context, std::string_view protocol, std::int64_t& account);
  ~Tls();
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  // The bytes must stay until read() returns anything but `data`.
  void feed(std::string_view received) {
    received_ = received;
    begun_ |= !received.empty();
  }
  Read read(std::span<char> into, std::size_t& count);

  // Encrypts at most seal_bytes_max of `plain` and returns how many; 0: nothing can be sent, now or
  // later.
  static constexpr std::size_t seal_bytes_max = 256 << 10;
  std::size_t write(std::string_view plain);
  // Sends the close alert. Call once; it has no effect before the handshake is over.
  void close();
  bool closed() const { return closed_; }

  bool established() const { return established_; }
  bool begun() const { return begun_; }  // at least one byte was received
  std::string& out() { return out_; }
  const std::string& out() const { return out_; }
  std::string_view protocol() const { return protocol_; }
  // Counts the bytes of OpenSSL in another account from now on; null: in none, before the shard of
  // that account takes over.
  void charge_to(std::int64_t* account);
  // Bytes of its own buffers; the bytes of OpenSSL are in the account.
  std::size_t memory() const { return sizeof(Tls) + out_.capacity(); }

 private:
  friend struct TlsBio;
  std::int64_t* account_;
  std::int64_t held_ = 0;  // bytes of OpenSSL in the account
  ssl_st* ssl_ = nullptr;
  std::string_view protocol_;
  std::string_view received_;
  std::string out_;
  bool established_ = false;
  bool begun_ = false;
  bool closed_ = false;
};

}  // namespace pawl

// TLS 1.2 and 1.3 between a connection's buffers and its protocol. No socket in it: bytes from the wire are
// fed in, bytes for the wire are taken out.
//
//   handshake --read()--> established --close()--> closed
//        \--read() says failed-----------^
//
//   feed(received) -> read(plain) until want_more      write(plain) -> out(): what to send
//
// Clients are not asked for certificates. No renegotiation, no early data, no compression; sessions are
// resumed by tickets, whose keys live and go with the TlsContext.
//
// Limits: out() grows by answers to a peer that rekeys without reading too: whoever owns the connection
//         watches pending_max. What is inside OpenSSL is at most a record each way, and is given back when
//         it is empty.
// Errors: load() says which file and why. A failed handshake or record leaves an alert in out().
// Owner:  a Tls belongs to its connection; a TlsContext is shared by threads, and each Tls keeps its own
//         alive, so that a newer one does not disturb it. The account outlives the Tls that count in it, and all of
//         them are used by one thread.
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
  // Reads PEM files: the certificate with what lies between it and its root, and the key, which must not be
  // accessible to everybody.
  static std::expected<std::shared_ptr<const TlsContext>, std::string> load(
      const std::string& certificate, const std::string& key);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

 private:
  friend class Tls;
  explicit TlsContext(ssl_ctx_st* context) : context_(context) {}
  ssl_ctx_st* context_;
};

// One connection's.
class Tls {
 public:
  // Beyond what the connection itself wrote: more than any handshake, alert or key update needs.
  static constexpr std::size_t pending_max = 64 << 10;

  enum class Read : std::uint8_t {
    data,       // `count` bytes are in `into`; there may be more
    want_more,  // all that was fed is used up
    closed,     // the peer has said that nothing more will come
    failed,     // not TLS, or not ours; out() has the alert
  };

  // `protocol` is a literal: what a client that offers a choice (ALPN) must offer among it. `account` has the bytes that
  // OpenSSL holds for this and others.
  Tls(const TlsContext& context, std::string_view protocol, std::int64_t& account);
  ~Tls();
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  // The bytes must stay until read() has said anything but `data`.
  void feed(std::string_view received) {
    received_ = received;
    begun_ |= !received.empty();
  }
  // What came while the handshake waited for its turn; up to pending_max.
  std::string& early() { return early_; }
  Read read(std::span<char> into, std::size_t& count);

  // Seals at most seal_bytes_max of it and says how many; 0: nothing can be sent, now or later.
  static constexpr std::size_t seal_bytes_max = 256 << 10;
  std::size_t write(std::string_view plain);
  // Says that nothing more will come. Once; without effect before the handshake is over.
  void close();
  bool closed() const { return closed_; }

  bool established() const { return established_; }
  bool begun() const { return begun_; }  // anything was received
  std::string& out() { return out_; }
  std::string_view protocol() const { return protocol_; }
  // Bytes of its own buffers; those of OpenSSL are in the account.
  std::size_t memory() const { return sizeof(Tls) + out_.capacity() + early_.capacity(); }

 private:
  friend struct TlsBio;
  std::int64_t* account_;
  ssl_st* ssl_ = nullptr;
  std::string_view protocol_;
  std::string_view received_;
  std::string out_, early_;
  bool established_ = false;
  bool begun_ = false;
  bool closed_ = false;
};

}  // namespace pawl

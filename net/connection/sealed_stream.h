// SPDX-License-Identifier: Apache-2.0
// SealedStream: the TLS side of a connection. It keeps the first bytes until the handshake's turn,
// decrypts received bytes for the protocol and encrypts its output.
//
//   unasked --no turn free--> waits --admit()--> admitted
//       \--------------------admit()-------------^
//
// Units:  bytes.
// Limits: before its turn it keeps at most Tls::pending_max bytes. seal() encrypts at most
//         Tls::seal_bytes_max at a time.
// Errors: Input; seal() returns false.
// Owner:  the Connection; handed to another shard with it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "net/io/tls.h"

namespace pawl {

class SealedStream {
 public:
  enum class Input : std::uint8_t {
    taken,         // all bytes that the taker wants are decrypted
    peer_closed,   // the peer has closed its side
    failed,        // not TLS, or not ours: out() has the alert
    not_answered,  // the peer causes output and does not read it
  };

  SealedStream(const TlsContext& context, std::string_view protocol, std::int64_t& account)
      : tls_(context, protocol, account) {}

  // --- the handshake's turn ---
  bool admitted() const { return turn_ == Turn::admitted; }
  bool waits() const { return turn_ == Turn::waits; }
  bool unasked() const { return turn_ == Turn::unasked; }
  void wait_for_turn() { move_to(Turn::waits); }
  // Returns the bytes that were kept.
  std::string admit();
  // Keeps bytes until the turn comes. False: too many.
  bool keep(std::string_view bytes);

  // --- input ---
  bool begun() const { return tls_.begun(); }
  // Decrypts all bytes at once, so that the limits of a connection bound what is kept here too.
  // `take(plain)` returns false if it wants no more.
  template <typename Take>
  Input open(std::string_view bytes, Take take) {
    CHECK(admitted(), "bytes are decrypted before the handshake's turn");
    thread_local std::array<char, 16 << 10> plain;  // the payload of the largest record
    Tls::Read read = Tls::Read::data;
    bool goes_on = true;
    tls_.feed(bytes);
    while (read == Tls::Read::data && goes_on) {
      std::size_t count = 0;
      read = tls_.read(plain, count);
      if (count > 0) goes_on = take(std::string_view(plain.data(), count));
    }
    tls_.feed({});
    return result_of(read);
  }

  // --- output ---
  // Encrypts a slice of `plain` that follows the slices before; when all of it is encrypted, it is
  // emptied. False: nothing can be sent, now or later, and `plain` is dropped.
  bool seal(std::string& plain);
  // The encrypted bytes at the front of `plain`.
  std::size_t sealed() const { return sealed_; }
  // Encrypted bytes to send. Also those of the handshake and of alerts.
  std::string& out() { return tls_.out(); }
  const std::string& out() const { return tls_.out(); }
  void close() { tls_.close(); }
  bool closed() const { return tls_.closed(); }

  bool established() const { return tls_.established(); }
  // See Tls.
  void charge_to(std::int64_t* account) { tls_.charge_to(account); }
  std::size_t memory() const {
    return sizeof(*this) - sizeof(Tls) + early_.capacity() + tls_.memory();
  }

 private:
  enum class Turn : std::uint8_t { unasked, waits, admitted };
  static constexpr bool may_become(Turn before, Turn after) { return before < after; }
  void move_to(Turn turn) {
    CHECK(may_become(turn_, turn), "turn {} after {}", static_cast<int>(turn),
          static_cast<int>(turn_));
    turn_ = turn;
  }
  Input result_of(Tls::Read read) const;

  Tls tls_;
  Turn turn_ = Turn::unasked;
  std::string early_;       // received before the turn
  std::size_t sealed_ = 0;  // encrypted bytes at the front of the output
};

}  // namespace pawl

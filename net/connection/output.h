// SPDX-License-Identifier: Apache-2.0
// Output: the bytes that a connection has to send. The protocol appends to text() while an earlier
// text is being sent, piece by piece, in one send at a time: two could interleave.
//
//   text() --seal() with TLS--> ready --begin()--> being sent --piece(), ended(), advance()--> sent
//
// Units:  bytes; ms.
// Limits: piece_bytes_max a send, which shows whether the peer reads. Its owner limits the rest.
// Errors: a failed send is its owner's.
// Owner:  the Connection, which arms the sends.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "core/base/time.h"
#include "net/connection/sealed_stream.h"

namespace pawl {

class Output {
 public:
  static constexpr std::size_t piece_bytes_max = 256 << 10;
  static constexpr std::size_t kept_bytes_max = 256 << 10;  // of an empty buffer, for reuse

  // Output is encrypted from now on; null: no longer.
  void seal_with(SealedStream* stream) { tls_ = stream; }

  std::string& text() { return text_; }
  // The text that is not encrypted yet; without TLS, the text that is not being sent.
  std::size_t waiting() const {
    const std::size_t sealed = tls_ == nullptr ? 0 : tls_->sealed();
    CHECK(sealed <= text_.size(), "encrypted {} of {} bytes", sealed, text_.size());
    return text_.size() - sealed;
  }
  std::size_t unsent() const {
    CHECK(sent_ <= sending_.size());
    return waiting() + sending_.size() - sent_;
  }
  bool armed() const { return armed_; }  // a send is under way
  bool all_sent() const {
    return text_.empty() && !armed_ && (tls_ == nullptr || tls_->out().empty());
  }

  // Encrypts a slice of the text. False: nothing can be sent, now or later.
  bool seal();
  // Takes everything that is ready. False: nothing is.
  bool begin();
  // Begins a send, and returns its bytes.
  std::string_view piece(Instant now);
  // The send has ended.
  void ended();
  // The kernel has taken bytes of the piece. True: another piece follows.
  bool advance(std::size_t bytes);

  // Notes whether the peer has read bytes of the send on this socket. Call it once a second.
  void watch(int fd, Instant now);
  // How long the peer has read nothing. Valid while a send is armed.
  Duration stuck(Instant now) const { return now - progress_; }

  void free_empty();
  std::size_t memory() const { return text_.capacity() + sending_.capacity(); }

 private:
  SealedStream* tls_ = nullptr;
  std::string text_;  // with TLS, the bytes encrypted before are at its front
  std::string sending_;
  std::size_t sent_ = 0;
  bool armed_ = false;
  int unacknowledged_ = -1;  // bytes in the kernel's send queue when they last changed; -1: unknown
  Instant progress_;
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// A connection of the binary protocol: many pending requests, with responses in any order.
//
// Limits: the credit of BinarySettings: beyond it no further frame is taken. ConnectionTimes::head
//         for HELLO.
#pragma once

#include <memory>

#include "core/free_memory.h"
#include "net/connection/connection.h"
#include "proto/binary/session.h"

namespace pawl {

class BinaryConnection final : public Connection {
 public:
  // Largest frame accepted before authentication.
  static constexpr std::size_t greeting_bytes_max = 4096;

  static constexpr std::size_t short_credit_bytes = 256 << 10;
  // Bytes allocated for a frame before they arrive, at most.
  static constexpr std::size_t trusted_bytes = 64 << 10;

  BinaryConnection(ConnectionHost& host, int fd, Instant now) : Connection(host, fd), begun_(now) {}

 protected:
  std::size_t take(std::string_view bytes) override;
  bool on_response(PendingCall& call) override;
  void release(PendingCall& call) override;
  bool overdue(Instant now) const override;
  bool verified() const override { return session_.greeted(); }
  bool may_stay(const Keyring* keys) const override { return session_.may_stay(keys); }
  std::size_t own_memory() const override { return partial_.capacity() + held_under_way_; }
  void own_spare() override {
    if (partial_.empty()) free_memory(partial_);
  }

 private:
  void begin_call(std::string_view frame);
  bool carry_on(PendingBinaryCall& call, BinaryCall::Next next);
  void charge(PendingBinaryCall& call, std::size_t bytes, std::size_t held, std::size_t promised);

  BinarySession session_;
  std::size_t bytes_under_way_ = 0;
  std::size_t held_under_way_ = 0;
  std::size_t promised_ = 0;
  std::string partial_;  // an incomplete frame
  Instant partial_since_;
  Instant begun_;
};

}  // namespace pawl

// A connection of our own protocol: many requests under way at once, answered in any order.
//
// Limits: SessionConfig's credit: beyond it no further frame is taken. ConnectionTimes::head for HELLO.
#pragma once

#include <memory>

#include "core/free_memory.h"
#include "net/connection/connection.h"
#include "proto/session.h"

namespace pawl {

class BinaryCall final : public PendingCall {
 public:
  WireCall wire;
  bool receive = false;      // it may wait long, and is kept apart from those that had much to say
  std::size_t bytes = 0;     // against the credit
  std::size_t held = 0;      // that it has of memory
  std::size_t promised = 0;  // that its answer may have

  std::size_t memory() const { return sizeof(BinaryCall) + wire.capacity(); }
};

class BinaryConnection final : public Connection {
 public:
  static constexpr std::size_t greeting_bytes_max =
      4096;  // of a frame of who has not said who it is

  static constexpr std::size_t short_credit_bytes = 256 << 10;
  static constexpr std::size_t trusted_bytes =
      64 << 10;  // of a frame, for which there is room before they have come

  BinaryConnection(Connections& table, int fd, Instant now) : Connection(table, fd), begun_(now) {}

 protected:
  std::size_t take(std::string_view bytes) override;
  bool answered(PendingCall& call) override;
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
  bool carry_on(BinaryCall& call, WireCall::Next next);
  void charge(BinaryCall& call, std::size_t bytes, std::size_t held, std::size_t promised);

  Session session_;
  std::size_t bytes_under_way_ = 0;
  std::size_t held_under_way_ = 0;
  std::size_t promised_ = 0;
  std::string partial_;  // a frame of which not all has come
  Instant partial_since_;
  Instant begun_;
};

}  // namespace pawl

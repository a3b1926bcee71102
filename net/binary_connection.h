// A connection of our own protocol: many requests under way at once, answered in any order.
//
// Limits: SessionConfig's credit: beyond it no further frame is taken. ConnectionTimes::head for HELLO.
#pragma once

#include <memory>

#include "net/connection.h"
#include "proto/session.h"

namespace pawl {

class BinaryCall final : public PendingCall {
 public:
  WireCall wire;
  std::size_t bytes = 0;  // of its frame, against the credit
};

class BinaryConnection final : public Connection {
 public:
  static constexpr std::size_t greeting_bytes_max =
      4096;  // of a frame of who has not said who it is

  BinaryConnection(Connections& table, int fd, Instant now) : Connection(table, fd), begun_(now) {}

 protected:
  std::size_t take(std::string_view bytes) override;
  bool answered(PendingCall& call) override;
  void release(PendingCall& call) override;
  bool overdue(Instant now) const override;

 private:
  void begin_call(std::string_view frame);
  bool carry_on(BinaryCall& call, WireCall::Next next);

  Session session_;
  std::size_t bytes_under_way_ = 0;
  std::string partial_;  // a frame of which not all has come
  Instant partial_since_;
  Instant begun_;
};

}  // namespace pawl

// A connection of our own protocol: many requests under way at once, answered in any order.
//
// Limits: SessionConfig's credit: beyond it no further frame is taken. hello_timeout.
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
  static constexpr Duration hello_timeout = seconds(10);

  BinaryConnection(Connections& table, int fd, Instant now) : Connection(table, fd), begun_(now) {}
  std::string_view kind() const override { return "binary"; }

 protected:
  std::size_t take(std::string_view bytes) override;
  bool answered(PendingCall& call) override;
  void release(PendingCall& call) override;
  bool overdue(Instant now) const override {
    return !session_.greeted() && now - begun_ > hello_timeout;
  }

 private:
  void begin_call(std::string_view frame);
  bool carry_on(BinaryCall& call, WireCall::Next next);

  Session session_;
  std::size_t bytes_under_way_ = 0;
  std::string partial_;  // a frame of which not all has come
  Instant begun_;
};

}  // namespace pawl

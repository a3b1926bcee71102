// SPDX-License-Identifier: Apache-2.0
// A connection of the binary protocol: many pending requests, with responses in any order.
//
// A subscription keeps its call: submitted, or paused until there is credit and the peer has read
// what was sent before.
//
// Limits: the credit of BinarySettings: beyond it no further frame is taken. ConnectionTimes::head
//         for HELLO.
#pragma once

#include <memory>
#include <vector>

#include "core/base/free_memory.h"
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
  ~BinaryConnection() override;

 protected:
  std::size_t take(std::string_view bytes) override;
  bool on_response(PendingCall& call) override;
  void release(PendingCall& call) override;
  bool on_second(Instant now) override;
  bool verified() const override { return session_.greeted(); }
  bool may_stay(const Keyring* keys) const override { return session_.may_stay(keys); }
  std::size_t own_memory() const override { return partial_.capacity() + held_under_way_; }
  void own_spare() override {
    if (partial_.empty()) free_memory(partial_);
  }
  void on_all_sent() override { resume_subscriptions(); }
  bool stays(Instant) override {
    end_subscriptions();
    return host().stage() == Stage::draining && unanswered_ > 0;
  }

 private:
  void begin_call(std::string_view frame);
  void finish();
  BinaryCall::Next push(PendingBinaryCall& call);
  void pause(PendingBinaryCall& call);
  void resume(PendingBinaryCall& call);
  void resume_subscriptions();
  void send_empty_delivers(Instant now);
  void end_subscription(PendingBinaryCall& call);
  void end_subscriptions();
  bool carry_on(PendingBinaryCall& call, BinaryCall::Next next);
  void count(const PendingBinaryCall& call);
  void write_response(PendingBinaryCall& call);
  std::size_t promised_beside(std::size_t own) const;
  void charge(PendingBinaryCall& call, std::size_t bytes, std::size_t held, std::size_t promised);

  BinarySession session_;
  std::size_t bytes_under_way_ = 0;
  std::size_t held_under_way_ = 0;
  std::size_t promised_ = 0;
  std::vector<PendingBinaryCall*> subscriptions_;  // their calls, also those that are paused
  std::size_t unanswered_ = 0;  // messages pushed, neither deleted nor hidden for another time
  std::string partial_;         // an incomplete frame
  Instant partial_since_;
  Instant begun_;
};

}  // namespace pawl

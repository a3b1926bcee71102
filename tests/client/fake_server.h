// SPDX-License-Identifier: Apache-2.0
// A server for tests of the client: the real BinarySession and BinaryCall, a socket and a
// FakeBroker, in one thread of its own. It misbehaves at one operation on request.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "proto/binary/session.h"
#include "tests/client/fake_broker.h"

namespace pawl {

class FakeServer {
 public:
  enum class Fault : std::uint8_t {
    none,
    hang_up,      // without processing the request
    lose_answer,  // processes the request, then hangs up
    say_nothing,
    garbage,
    foreign_answer,
    flipped_bit
  };

  // Port 0: a free one.
  explicit FakeServer(BinarySettings config = {}, std::uint16_t port = 0);
  ~FakeServer();

  std::uint16_t port() const { return port_; }
  static constexpr int always = 1'000'000'000;
  // Clients that connect from now on get these features only; their HELLO has no checksum.
  void limit_features(std::uint32_t features) { features_ = features; }
  // Commits this fault at the next requests of the operation. SEND_ONCE is a SEND.
  void misbehave(BinaryOp op, Fault fault, int times = always) {
    fault_op_ = op;
    fault_times_ = times;
    fault_ = fault;
  }
  // Refuses the next requests of the operation.
  void refuse(Op op, Errc error, int times = always) {
    refused_op_ = op;
    refusal_ = error;
    refusals_ = times;
  }
  // Acts as a server before protocol 1.5, for new connections.
  void hide_subscriptions(bool hide) { hides_subscriptions_ = hide; }
  std::uint64_t frames() const { return frames_; }  // requests seen

 private:
  struct Pending {
    BinaryCall call;
    Instant deadline;
    bool paused = false;  // of a subscription without credit
  };
  struct Peer {
    int descriptor = -1;
    BinarySession session;
    std::string in, out;
    std::list<Pending> parked;
    std::list<Pending> idle;
    bool closing = false;
  };

  void run();
  bool read(Peer& peer);
  bool take_frames(Peer& peer);
  bool handle(Peer& peer, std::string_view frame);
  void wake(Peer& peer);
  bool step(Peer& peer, std::list<Pending>::iterator pending, BinaryCall::Next next);
  BinaryCall::Next push(Peer& peer, Pending& pending);
  void respond(Peer& peer, std::list<Pending>::iterator pending, BinaryCall::Next next);
  bool flush(Peer& peer);

  std::atomic<bool> hides_subscriptions_ = false;
  BinarySettings config_;
  FakeBroker broker_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::list<Peer> peers_;
  std::atomic<bool> stop_ = false;
  std::atomic<std::uint64_t> frames_ = 0;
  std::atomic<std::uint32_t> features_ = 0xFFFF'FFFF;
  std::atomic<int> fault_times_ = 0;
  std::atomic<Op> refused_op_{};
  std::atomic<Errc> refusal_{};
  std::atomic<int> refusals_ = 0;
  std::atomic<BinaryOp> fault_op_{};
  std::atomic<Fault> fault_ = Fault::none;
  std::thread thread_;
};

}  // namespace pawl

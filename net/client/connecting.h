// SPDX-License-Identifier: Apache-2.0
// Opening a connection without waiting, driven by a caller's loop.
//
//   connecting --[tls]--> securing --> greeting --[key]--> authenticating --> ready
//     |    ^ next address      |           \---- no key needed -----------------^
//     +----+-------------------+------------------------> failed
//
// The caller waits until descriptor() has events(), or until deadline(), and calls on_ready().
//
// Limits: Options::connect_timeout for each state; connecting tries all addresses within it.
// Errors: unreachable (connecting), untrusted (securing), timed_out, broken, bad_answer, and the
//         refusals of HELLO and AUTHENTICATE. The constructor waits for name servers unless the
//         host is numeric.
// Owner:  the client's one thread.
// Source: proto/PROTOCOL.md, "The life of a connection" and "Keys"
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "net/client/pawl/client.h"
#include "net/client/pipeline.h"
#include "net/client/socket.h"

namespace pawl::client {

using Clock = std::chrono::steady_clock;

// A connection whose server accepted HELLO and the key.
struct Greeted {
  Pipeline pipeline;
  Client::Server server;
  bool groups = false;         // the server supports groups and attempts
  bool subscriptions = false;  // the server supports SUBSCRIBE
  bool send_once = false;      // the server supports SEND_ONCE
};

class Connecting {
 public:
  enum class State : std::uint8_t { connecting, securing, greeting, authenticating, ready, failed };

  Connecting(const Client::Options& options, Clock::time_point now);

  State state() const { return state_; }
  bool ended() const { return state_ == State::ready || state_ == State::failed; }
  int descriptor() const;  // it changes with each address; -1 after a failure
  short events() const;    // of poll(2)
  void watched_by(int epoll) {
    if (socket_) socket_->watched_by(epoll);
  }
  Clock::time_point deadline() const { return deadline_; }
  // Advances as far as possible without waiting.
  void on_ready(Clock::time_point now);

  const Client::Error& error() const { return error_; }  // when failed
  Greeted take();                                        // when ready, once

 private:
  void enter(State state, Clock::time_point now);
  void fail(Client::Error error);
  void on_deadline();
  void connect_next(int error, Clock::time_point now);
  bool step(Clock::time_point now);  // false: it has to wait
  bool on_connecting(Clock::time_point now);
  bool on_connected(Clock::time_point now);
  bool on_securing(Clock::time_point now);
  void greet(Clock::time_point now);
  bool on_answer(Clock::time_point now);
  void on_greeted(std::string_view payload, Clock::time_point now);
  void authenticate(std::string_view challenge, Clock::time_point now);
  void submit(Clock::time_point now, State next);

  Client::Options options_;
  State state_ = State::connecting;
  Clock::time_point deadline_;
  Client::Error error_;

  std::vector<Address> addresses_;
  std::size_t next_address_ = 0;
  std::optional<Socket> socket_;  // until the pipeline has it
  Handshake handshake_ = Handshake::want_write;

  std::optional<Pipeline> pipeline_;
  std::vector<Answer> answers_;
  Client::Server server_;
  std::uint32_t features_ = 0;
};

}  // namespace pawl::client

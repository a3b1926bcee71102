// SPDX-License-Identifier: Apache-2.0
// A connection with open queues that is made again whenever it ends, to one of several addresses.
//
//   pausing --the pause ends--> connecting --greeted--> opening --queues are open--> up
//     ^                            |                       |                          |
//     +--- failure: the next ------+-----------------------+      failure: the same --+
//          address                                                address
//
// There is a pause before each attempt, except for the first one and for addresses that this round
// has not tried yet. A connection counts as failed when requests are outstanding and none has been
// answered for `silence_max`.
//
// Errors: the last one is in error(). A refusal of the server that a repetition will not change,
//         such as no_such_queue or unauthorized, is also reported once by take_refusal().
// Owner:  one Producer or Consumer, in the thread that drives it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "net/client/backoff.h"
#include "net/client/connecting.h"
#include "net/client/pawl/endpoint.h"
#include "net/client/pipeline.h"
#include "net/client/readiness.h"

namespace pawl::client {

struct OpenQueue {
  std::uint32_t handle = 0;
  std::uint32_t maximum_message_size = 0;   // bytes
  std::chrono::milliseconds visibility{0};  // the queue's default
  bool fifo = false;
  bool content_based_deduplication = false;
};

class Link {
 public:
  enum class State : std::uint8_t { pausing, connecting, opening, up };

  // Connects in the first turn. `queues`: names; they are opened in this order.
  Link(const Endpoint& endpoint, std::vector<std::string> queues,
       std::chrono::milliseconds silence_max, Clock::time_point now);

  // Advances without waiting, and appends the responses to requests of the up state; their payloads
  // are valid until the next turn. When the connection fails, every request gets an error response.
  void turn(std::vector<Answer>& answers, Clock::time_point now);

  // Requests can be made. A restarted link is down.
  bool up() const { return state_ == State::up && !pipeline_->failure(); }
  State state() const { return state_; }
  Pipeline& pipeline();                                       // when up
  const OpenQueue& queue(std::size_t index) const;            // when up
  bool subscribes() const { return subscribes_; }             // the server has SUBSCRIBE
  bool sends_once() const { return sends_once_; }             // the server has SEND_ONCE
  std::uint64_t connections() const { return connections_; }  // times that it came up
  const Client::Error& error() const { return error_; }
  std::optional<Client::Error> take_refusal();

  // Ends the connection, for example because a queue has to be opened again. Requests in flight get
  // their error responses in the next turn.
  void restart(Client::Error error);

  // For good: later turns do nothing.
  void close();

  Clock::time_point deadline() const;  // of the next turn
  void watch(Readiness& readiness);

 private:
  void connect(Clock::time_point now);
  void on_connecting(Clock::time_point now);
  void on_opening(Clock::time_point now);
  void on_up(std::vector<Answer>& answers, Clock::time_point now);
  void request_next(Clock::time_point now);
  bool take_opened(const Answer& answer);
  void fail(Client::Error error, bool next_address, Clock::time_point now);
  void pause(bool next_address, Clock::time_point now);

  Endpoint endpoint_;
  std::chrono::milliseconds silence_max_;
  Backoff backoff_;
  std::vector<std::string> names_;

  State state_ = State::pausing;
  Clock::time_point deadline_;  // of pausing and opening; while up: of the next response
  Client::Error error_;
  std::optional<Client::Error> refusal_;
  std::size_t address_ = 0;
  std::size_t tried_ = 0;  // addresses in this round
  std::uint64_t connections_ = 0;

  std::optional<Connecting> connecting_;
  std::optional<Pipeline> pipeline_;  // when opening or up
  std::optional<Pipeline> ended_;     // responses of the last turn point into it
  bool subscribes_ = false;
  bool sends_once_ = false;
  std::vector<OpenQueue> queues_;  // opened so far; the last one may lack its attributes
  bool attributes_asked_ = false;  // the request in flight is GET_ATTRIBUTES
  std::vector<Answer> opening_answers_;
};

}  // namespace pawl::client

// SPDX-License-Identifier: Apache-2.0
// The source of a Consumer's messages: a subscription, or long polls.
//
//   standard queue:  request() --SUBSCRIBE--> DELIVER ... --credit for free slots--> DELIVER ...
//   FIFO queue, or a server before protocol 1.5:
//                    request() --RECEIVE--> in flight --response--> messages
//                                  ^            |
//                                  +------------+ the connection ended: the same attempt id again
//
// Credit rides on deletes; if none are due, an ACKNOWLEDGE without receipts grants it as soon as
// half of the slots are free. A second poll is sent beside a waiting one under the same condition.
// On a FIFO queue each poll has an attempt id: a repeated poll gets the messages of a lost
// response.
//
// Limits: 1024 messages a poll; the protocol's credit of a subscription.
// Errors: a refusal 2xxx pauses until its delay has passed.
// Owner:  one ConsumerCore.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "net/client/link.h"
#include "net/client/pipeline.h"

namespace pawl::client {

class Receives {
 public:
  Receives(std::uint32_t capacity, std::chrono::milliseconds wait,
           std::optional<std::chrono::milliseconds> visibility);

  // Asks for up to `free` messages, less those that were asked for before.
  void request(Link& link, std::uint32_t free, Clock::time_point now);
  // Ends the subscription, if there is one.
  void stop(Link& link);
  // Takes a response to RECEIVE, SUBSCRIBE, UNSUBSCRIBE or an ACKNOWLEDGE of request(), or a
  // DELIVER. False: it is invalid, or has more messages than asked for.
  bool on_answer(const Answer& answer, std::vector<Client::MessageView>& messages,
                 Clock::time_point now);

  // The subscription that deletes can grant credit to.
  std::optional<Client::Ticket> subscription() const { return subscription_; }
  // Credit for the free slots, to be sent with deletes; returned if they cannot be sent.
  std::uint32_t take_credit(std::uint32_t free);
  void return_credit(std::uint32_t credit);

  // Messages that may still come, also those of polls to be repeated.
  std::uint32_t asked() const { return asked_; }
  Clock::time_point paused_until() const { return paused_until_; }

 private:
  struct Poll {
    std::uint32_t max = 0;  // 0: not in flight
    std::uint64_t attempt = 0;
  };
  bool is_worthwhile(std::uint32_t free) const;
  void poll(Link& link, std::uint32_t free);
  bool send(Link& link, const Poll& poll);
  void subscribe(Link& link, std::uint32_t free);
  void grant(Link& link, std::uint32_t free);
  bool on_polled(const Answer& answer, std::vector<Client::MessageView>& messages,
                 Clock::time_point now);
  void pause(const Client::Error& error, Clock::time_point now);

  const std::uint32_t capacity_;
  const std::chrono::milliseconds wait_;
  const std::optional<std::chrono::milliseconds> visibility_;
  const std::string nonce_;  // begins each attempt id
  std::uint64_t attempts_ = 0;
  std::uint32_t asked_ = 0;
  std::vector<Poll> polls_;    // by the slot of their ticket
  std::vector<Poll> repeats_;  // their connection ended
  std::optional<Client::Ticket> subscription_;
  bool stopping_ = false;  // UNSUBSCRIBE is sent
  bool refused_ = false;   // the server refused the subscription: it polls
  Clock::time_point paused_until_;
};

}  // namespace pawl::client

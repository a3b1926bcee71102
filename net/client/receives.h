// SPDX-License-Identifier: Apache-2.0
// The source of a Consumer's messages: long polls, as many as its free slots justify.
//
//   request() --RECEIVE--> in flight --response--> messages
//                 ^            |
//                 +------------+ the connection ended: repeated with the same attempt id
//
// A second poll is sent beside a waiting one when it may bring at least half of the capacity. On a
// FIFO queue each poll has an attempt id: a repeated poll gets the messages of a lost response. A
// push verb of the protocol would replace this class.
//
// Limits: 1024 messages a poll.
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

  // Sends polls for up to `free` messages, less those that polls in flight may bring.
  void request(Link& link, std::uint32_t free, Clock::time_point now);
  // Takes a response to RECEIVE. False: it is invalid, or has more messages than asked for.
  bool on_answer(const Answer& answer, std::vector<Client::MessageView>& messages,
                 Clock::time_point now);
  // Messages that polls may bring, also those to be repeated.
  std::uint32_t asked() const { return asked_; }
  Clock::time_point paused_until() const { return paused_until_; }

 private:
  struct Poll {
    std::uint32_t max = 0;  // 0: not in flight
    std::uint64_t attempt = 0;
  };
  bool is_worthwhile(std::uint32_t free) const;
  bool send(Link& link, const Poll& poll);

  const std::uint32_t capacity_;
  const std::chrono::milliseconds wait_;
  const std::optional<std::chrono::milliseconds> visibility_;
  const std::string nonce_;  // begins each attempt id
  std::uint64_t attempts_ = 0;
  std::uint32_t asked_ = 0;
  std::vector<Poll> polls_;    // by the slot of their ticket
  std::vector<Poll> repeats_;  // their connection ended
  Clock::time_point paused_until_;
};

}  // namespace pawl::client

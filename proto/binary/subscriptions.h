// SPDX-License-Identifier: Apache-2.0
// Subscriptions of a binary connection: the server sends messages while the client has credit.
//
//   SUBSCRIBE --> active --DELIVER: a credit for each message--> active
//                    \--UNSUBSCRIBE, refusal, shutdown--> ended: the response to SUBSCRIBE
//
// An empty DELIVER after a while without messages shows the client that the server is alive.
//
// Limits: subscriptions_max a connection; subscription_credit_max messages of credit each;
//         deliver_max messages a DELIVER.
// Owner:  one BinarySession; a BinaryCall points to its subscription until it ends.
// Source: proto/PROTOCOL.md
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "core/base/time.h"
#include "proto/binary/frames.h"

namespace pawl {

inline constexpr std::uint32_t subscriptions_max = 256;
inline constexpr std::uint32_t subscription_credit_max = 65'536;
inline constexpr std::uint32_t deliver_max = 64;

struct Subscription {
  // Fewest messages that a DELIVER has space for, if there is credit for them.
  static constexpr std::uint32_t capacity_min = 16;

  FrameHeader request;  // header of SUBSCRIBE
  Duration visibility{};
  std::uint32_t bytes_max = 0;  // of a DELIVER; 0: the server's limit
  std::uint32_t credit = 0;     // messages
  std::uint32_t latest = 0;     // messages of the latest DELIVER
  bool ending = false;          // UNSUBSCRIBE has arrived
  Instant written{};            // when the latest DELIVER was written

  // Messages that the next DELIVER has space for: a busy subscription needs more.
  std::uint32_t capacity() const {
    return std::min(credit, std::clamp(2 * latest, capacity_min, deliver_max));
  }
  void delivered(std::uint32_t messages) {
    latest = messages;
    credit -= std::min(credit, messages);
  }
};

void write_empty_deliver(std::string& out, const Subscription& subscription);

class Subscriptions {
 public:
  // Null: the connection has subscriptions_max, or one with this correlation.
  Subscription* add(const Subscription& subscription);
  // Null: there is none, or it has ended.
  Subscription* find(std::uint32_t correlation);
  void remove(std::uint32_t correlation) { active_.erase(correlation); }
  // False: the credit would be above subscription_credit_max. An ended subscription ignores it.
  bool grant(std::uint32_t correlation, std::uint32_t credit);
  std::size_t size() const { return active_.size(); }

 private:
  std::map<std::uint32_t, Subscription> active_;  // by the correlation of SUBSCRIBE
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// The messages that a Consumer has received and whose end the server has not confirmed.
//
//   free --take()--> under_way --> moving (to the dead-letter queue) --> deleting --> free
//                        |  \-----------------------------------------------^ |        ^
//                        |                                  next delivery --| |        |
//                        |                                            expired <--------|
//                        +--> releasing (visible again after a delay) -----------------+
//
// expired: the verdict was done, but the visibility timeout had passed. The next delivery here is
// deleted without the handler; there is none when another consumer gets the message.
//
// Limits: `capacity` messages.
// Errors: a stale token and an unknown id find nothing.
// Owner:  one ConsumerCore.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "net/client/connecting.h"
#include "net/client/pawl/consumer.h"

namespace pawl::client {

struct Held {
  enum class State : std::uint8_t { free, under_way, moving, deleting, expired, releasing };

  State state = State::free;
  bool queued = false;        // for a request of its state; else the request is in flight
  bool extendable = false;    // its visibility timeout is extended
  bool redelivered = false;   // since the last request: the receipt in it is stale
  std::uint32_t use = 0;      // deliveries that had this slot
  Client::Receipt receipt{};  // of the latest delivery
  Client::MessageId id{};
  Clock::time_point received;          // the latest delivery
  Clock::time_point due;               // under_way: the next extension; expired: the end
  std::chrono::milliseconds delay{0};  // of releasing
  std::unique_ptr<Client::Message>
      copy;  // for the dead-letter queue, and while it waits for its turn
};

class HeldMessages {
 public:
  using Index = std::uint32_t;
  static constexpr Index none = 0xFFFF'FFFF;

  explicit HeldMessages(std::uint32_t capacity);

  std::uint32_t capacity() const { return static_cast<std::uint32_t>(slots_.size()); }
  std::uint32_t size() const { return capacity() - free_count(); }
  std::uint32_t free_count() const { return static_cast<std::uint32_t>(free_.size()); }

  Index take(const Client::MessageView& message);  // needs a free slot
  void free(Index index);
  Held& operator[](Index index);
  Consumer::Token token(Index index) const;
  Index find(Consumer::Token token) const;  // under way; else none
  Index find(const Client::MessageId& id) const;

  template <typename Visit>
  void for_each(Held::State state, Visit&& visit) {
    for (Index index = 0; index < slots_.size(); ++index)
      if (slots_[index].state == state) visit(index, slots_[index]);
  }

 private:
  struct IdHash {
    std::size_t operator()(const Client::MessageId& id) const;
  };
  std::vector<Held> slots_;
  std::vector<Index> free_;
  std::unordered_map<Client::MessageId, Index, IdHash> by_id_;
};

}  // namespace pawl::client

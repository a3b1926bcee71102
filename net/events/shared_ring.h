// SPDX-License-Identifier: Apache-2.0
// SharedRing: a bounded queue from any threads to one consumer at a time. Neither side waits.
//
//   slot of ticket t:  turn == t: free --push()--> turn == t + 1: full
//                        ^                               |
//                        +-- turn == t + capacity <--- pop()
//
// A ticket orders all pushes, so those of one thread stay in order. A slot whose push is under way
// ends the queue for pop(); its thread finishes it.
//
// Limits: `capacity` entries, a power of two. push() is false for a full ring.
// Owner:  the ring's memory is shared by its threads. Consumers that alternate hand over by an
//         acquire and release of their own.
// Source: Vyukov, "Bounded MPMC queue".
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/base/check.h"

namespace pawl {

template <typename T, std::size_t capacity>
class SharedRing {
  static_assert((capacity & (capacity - 1)) == 0 && capacity >= 2);

 public:
  SharedRing() {
    for (std::size_t i = 0; i < capacity; ++i) slots_[i].turn.store(i, std::memory_order_relaxed);
  }

  // Moves from `value` unless the ring is full.
  bool push(T& value) {
    std::uint64_t ticket = tickets_.load(std::memory_order_relaxed);
    for (;;) {
      Slot& slot = slots_[ticket % capacity];
      const std::uint64_t seen = slot.turn.load(std::memory_order_acquire);
      if (seen < ticket) return false;  // its entry of the previous round is not taken yet
      if (seen > ticket) {              // another thread has this ticket
        ticket = tickets_.load(std::memory_order_relaxed);
        continue;
      }
      if (!tickets_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_relaxed)) continue;
      slot.value = std::move(value);
      slot.turn.store(ticket + 1, std::memory_order_release);
      return true;
    }
  }

  bool pop(T& value) {
    Slot& slot = slots_[taken_ % capacity];
    const std::uint64_t seen = slot.turn.load(std::memory_order_acquire);
    CHECK(seen >= taken_, "slot of {} has turn {}", taken_, seen);
    if (seen != taken_ + 1) return false;
    value = std::move(slot.value);
    slot.turn.store(taken_ + capacity, std::memory_order_release);
    ++taken_;
    return true;
  }

  // Entries pushed since the ring was made, including those whose push is under way.
  std::uint64_t pushed() const { return tickets_.load(std::memory_order_acquire); }

 private:
  struct Slot {
    std::atomic<std::uint64_t> turn{0};
    T value{};
  };

  std::array<Slot, capacity> slots_;
  std::atomic<std::uint64_t> tickets_{0};
  std::uint64_t taken_ = 0;  // of the consumer
};

}  // namespace pawl

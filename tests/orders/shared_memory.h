// SPDX-License-Identifier: Apache-2.0
// SharedMemory: memory as C++ defines it for threads. A load may return every value that it allows.
//
//   location: m0 - m1 - m2 ...   messages in modification order, one for each write
//   thread:   the newest message of each location that it knows; loads read it or a newer one
//
// A message of a release carries the knowledge of its thread, and an acquire that reads it learns
// it. A read-modify-write adds the knowledge of the message that it reads (the release sequence).
// Sequentially consistent operations and fences also exchange knowledge with one common memory.
// Clocks of the threads follow the same ways; they say which steps happened before which.
//
// Steps are taken one after the other; the caller interleaves them. A write may be placed before
// writes of other threads in modification order.
//
// Limits: a load never returns a value of a later step (no load buffering, no values out of thin
//         air), which C++ and ARM allow with relaxed operations. memory_order_consume is no order.
//         locations_max, threads_max, 255 messages of a location.
// Owner:  one execution of an Explorer.
// Source: C++20, [intro.races] and [atomics.order]; Kang et al., "A promising semantics for
//         relaxed-memory concurrency", 2017, without promises.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace pawl::orders {

inline constexpr std::size_t threads_max = 5;  // with the main thread, which is number 0
inline constexpr std::size_t locations_max = 32;

// The accesses of an object that is not atomic: for each thread the time of its latest one.
struct Accesses {
  std::array<std::uint32_t, threads_max> read{}, written{};
};

class SharedMemory {
 public:
  using Choose = std::function<std::size_t(std::size_t count)>;  // returns a number below count
  using Change = std::function<std::uint64_t(std::uint64_t)>;

  explicit SharedMemory(Choose choose);

  // A new location. Its first value is known to all threads.
  std::size_t add(std::uint64_t value);

  std::uint64_t load(std::size_t thread, std::size_t location, std::memory_order order);
  void store(std::size_t thread, std::size_t location, std::uint64_t value,
             std::memory_order order);
  // Returns the value before the change.
  std::uint64_t modify(std::size_t thread, std::size_t location, const Change& change,
                       std::memory_order order);
  void fence(std::size_t thread, std::memory_order order);

  // Accesses of objects that are not atomic. False: a data race with an earlier access.
  bool read(std::size_t thread, Accesses& accesses);
  bool write(std::size_t thread, Accesses& accesses);

  void begin_threads();  // all threads learn what the main thread knows
  void join_threads();   // and the reverse

 private:
  struct Knowledge {
    std::array<std::uint8_t, locations_max> seen{};  // id of a message of each location
    std::array<std::uint32_t, threads_max> clock{};  // steps of each thread
  };
  struct Message {
    std::uint64_t value = 0;
    std::uint8_t id = 0;
    bool follows = false;  // a read-modify-write has read the one before: nothing comes between
    Knowledge carried;
  };
  struct Thread {
    Knowledge known;
    Knowledge to_acquire;  // carried by messages that relaxed loads have read, for a fence
    Knowledge released;    // at the last release fence, for relaxed stores
  };

  std::size_t place_of(std::size_t location, std::uint8_t id) const;
  std::size_t oldest(const Thread& thread, std::size_t location, std::memory_order order) const;
  void learn(Knowledge& to, const Knowledge& from) const;
  void take(Thread& thread, std::size_t location, const Message& message, std::memory_order order);
  void put(std::size_t thread, std::size_t location, std::size_t place, Message message,
           std::memory_order order);

  Choose choose_;
  std::vector<std::vector<Message>> locations_;  // messages in modification order
  std::array<Thread, threads_max> threads_;
  Knowledge common_;  // of sequentially consistent operations
};

}  // namespace pawl::orders

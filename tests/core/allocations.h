// SPDX-License-Identifier: Apache-2.0
// Counters of this program: calls of operator new, and the bytes held by the broker.
//
// For tests and benchmarks; link tests/core/allocations.cc.
#pragma once

#include <cstdint>

namespace pawl::test {

std::uint64_t allocations();

// While an object of this class lives, allocations of its thread belong to the broker, no matter
// which thread frees them and when.
class BrokerMemory {
 public:
  BrokerMemory() { ++depth; }
  ~BrokerMemory() { --depth; }
  BrokerMemory(const BrokerMemory&) = delete;
  BrokerMemory& operator=(const BrokerMemory&) = delete;

  static bool here() { return depth > 0; }
  // Bytes allocated for the broker and not yet freed, as malloc_usable_size() reports them.
  static std::uint64_t held();

 private:
  static inline thread_local int depth = 0;
};

}  // namespace pawl::test

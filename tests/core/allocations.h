// How often the program has asked for memory, and how much of it the broker holds: every operator new counts.
//
// For tests and benchmarks; link tests/core/allocations.cc.
#pragma once

#include <cstdint>

namespace pawl::test {

std::uint64_t allocations();

// While one lives, what its thread allocates is the broker's, whoever frees it and when.
class BrokerMemory {
 public:
  BrokerMemory() { ++depth; }
  ~BrokerMemory() { --depth; }
  BrokerMemory(const BrokerMemory&) = delete;
  BrokerMemory& operator=(const BrokerMemory&) = delete;

  static bool here() { return depth > 0; }
  // Bytes that were allocated as the broker's and are not free yet, as malloc_usable_size() has them.
  static std::uint64_t held();

 private:
  static inline thread_local int depth = 0;
};

}  // namespace pawl::test

// How often the program has asked for memory: every operator new counts.
//
// For tests and benchmarks; link tests/core/allocations.cc.
#pragma once

#include <cstdint>

namespace pawl::test {

std::uint64_t allocations();

}  // namespace pawl::test

// Counts the machine instructions of a piece of work: for tests that the cost of something does not grow.
//
// The work runs in a child process, one instruction after the other. The count is that of this build: compare counts, never
// assert one. It takes some 30 us an instruction.
//
// Limits: the work must end by itself, within instructions_max.
#pragma once

#include <cstdint>
#include <functional>

namespace pawl::test {

inline constexpr std::uint64_t instructions_max = 400'000;

// What the work changed is lost with the child. Beyond the limit, or if there is no child, a failure is added.
std::uint64_t instructions(const std::function<void()>& work);

}  // namespace pawl::test

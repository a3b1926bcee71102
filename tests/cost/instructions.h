// SPDX-License-Identifier: Apache-2.0
// Counts the machine instructions of a piece of work, for tests that its cost does not grow.
//
// The work runs in a child process, one instruction at a time, at some 30 us each. The count holds
// for this build only: compare counts, never assert one.
//
// Limits: the work must end by itself, within instructions_max.
#pragma once

#include <cstdint>
#include <functional>

namespace pawl::test {

inline constexpr std::uint64_t instructions_max = 400'000;

// Changes made by the work are lost with the child. Beyond the limit, or without a child, a failure
// is added.
std::uint64_t instructions(const std::function<void()>& work);

}  // namespace pawl::test

// SPDX-License-Identifier: Apache-2.0
// A small part of each exhaustive check, as a unit test.
#include <gtest/gtest.h>

#include "tests/exhaustive/part.h"

namespace pawl::exhaustive {
namespace {

std::uint64_t failures(std::string_view name, void (*run)(Part&), const Settings& settings) {
  Part part(name, settings);
  run(part);
  part.end(false);
  EXPECT_GT(part.states(), 0u);
  return part.failures();
}

TEST(Exhaustive, NoPowerCutLosesWhatWasAcknowledged) {
  EXPECT_EQ(failures("crash", run_crash, {.limit = 20'000, .seeds = 1}), 0u);
}
TEST(Exhaustive, AFlippedBitIsNoticedOrHarmless) {
  EXPECT_EQ(failures("bits", run_bits, {.stride = 997, .walk = false}), 0u);
}
TEST(Exhaustive, AnOperationThatFailsLosesNothing) {
  EXPECT_EQ(failures("disk", run_disk, {.stride = 37}), 0u);
}
TEST(Exhaustive, AnAllocationThatFailsLosesNothing) {
  EXPECT_EQ(failures("memory", run_memory, {.stride = 97}), 0u);
}

}  // namespace
}  // namespace pawl::exhaustive

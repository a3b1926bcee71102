// SPDX-License-Identifier: Apache-2.0
// Builds without mutants. The mutants themselves: tests/sim/mutant_test.cc.
#include "core/base/mutant.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

#ifndef PAWL_MUTANTS
static_assert(!MUTANT(ack_before_flush), "a constant: no mistake is compiled in");
#endif

TEST(Mutant, IsNotActiveUnlessATestSelectsIt) {
  EXPECT_FALSE(MUTANT(ack_before_flush));
  EXPECT_FALSE(MUTANT(stay_full));
}

}  // namespace
}  // namespace pawl

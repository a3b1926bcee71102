// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/held_signals.h"

#include <gtest/gtest.h>

#include <csignal>

namespace pawl {
namespace {

volatile std::sig_atomic_t taken = 0;

TEST(HeldSignals, TakeEffectWhenTheyAreNoLongerHeld) {
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ}) {
    SCOPED_TRACE(number);
    taken = 0;
    const auto before = std::signal(number, [](int signal) { taken = signal; });
    {
      const HeldSignals held;
      EXPECT_FALSE(held.pending());
      std::raise(number);
      EXPECT_TRUE(held.pending());
      EXPECT_EQ(taken, 0);
    }
    EXPECT_EQ(taken, number);
    std::signal(number, before);
  }
}

TEST(HeldSignals, DoNotEndTheWorkWhenTheyAreIgnored) {
  const auto before = std::signal(SIGHUP, SIG_IGN);
  {
    const HeldSignals held;
    std::raise(SIGHUP);
    EXPECT_FALSE(held.pending());
  }
  std::signal(SIGHUP, before);
}

}  // namespace
}  // namespace pawl

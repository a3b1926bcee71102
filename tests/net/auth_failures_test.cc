// SPDX-License-Identifier: Apache-2.0
#include "net/connection/auth_failures.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(AuthFailures, AreCountedByReason) {
  AuthFailures failures;
  failures.add(AuthFault::mismatch);
  for (int i = 0; i < 1000; ++i) failures.add(AuthFault::expired);
  EXPECT_EQ(failures.counts()[static_cast<std::size_t>(AuthFault::mismatch)], 1u);
  EXPECT_EQ(failures.counts()[static_cast<std::size_t>(AuthFault::expired)], 1000u);
  EXPECT_EQ(failures.counts()[static_cast<std::size_t>(AuthFault::missing)], 0u);
}

}  // namespace
}  // namespace pawl

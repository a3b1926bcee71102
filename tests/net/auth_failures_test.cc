// SPDX-License-Identifier: Apache-2.0
#include "net/connection/auth_failures.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(AuthFailures, AreAllCountedAndLoggedOnceASecond) {
  AuthFailures failures;
  const PeerAddress peer = Network::parse("2001:db8::7")->address;
  const Instant now{1'000'000};
  EXPECT_EQ(failures.add(AuthFault::mismatch, "http", peer, now),
            "pawl: http: authentication failed (mismatch) from 2001:db8::7\n");
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(failures.add(AuthFault::expired, "http", peer, now + Duration{i / 2}), "") << i;
  EXPECT_EQ(failures.add(AuthFault::missing, "binary", peer, now + seconds(1)),
            "pawl: binary: authentication failed (missing) from 2001:db8::7; 1000 more since the "
            "last such line\n");
  EXPECT_EQ(failures.counts()[static_cast<std::size_t>(AuthFault::mismatch)], 1u);
  EXPECT_EQ(failures.counts()[static_cast<std::size_t>(AuthFault::expired)], 1000u);
  EXPECT_EQ(failures.counts()[static_cast<std::size_t>(AuthFault::missing)], 1u);
}

}  // namespace
}  // namespace pawl

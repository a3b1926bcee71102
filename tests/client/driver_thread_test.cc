// SPDX-License-Identifier: Apache-2.0
#include "net/client/driver_thread.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <semaphore>

namespace pawl::client {
namespace {

TEST(DriverThread, TakesTurnsUntilItIsStoppedAndOneLastCall) {
  std::counting_semaphore<> wakeups(0);
  std::atomic<int> turns = 0, last = 0;
  std::atomic<bool> current = true, blocked = false;
  DriverThread thread;
  const int error = thread.start(
      [&] {
        ++turns;
        current = current && thread.is_current();
        sigset_t mask;
        pthread_sigmask(SIG_BLOCK, nullptr, &mask);
        blocked = sigismember(&mask, SIGTERM) == 1;
      },
      [&] { wakeups.acquire(); }, [&] { ++last; });
  ASSERT_EQ(error, 0);
  EXPECT_TRUE(thread.running());
  EXPECT_FALSE(thread.is_current());
  while (turns < 3) wakeups.release();
  EXPECT_EQ(last, 0);
  thread.stop([&] { wakeups.release(); });
  EXPECT_EQ(last, 1);
  EXPECT_FALSE(thread.running());
  EXPECT_TRUE(current);
  EXPECT_TRUE(blocked) << "signals go to threads of the program";
}

}  // namespace
}  // namespace pawl::client

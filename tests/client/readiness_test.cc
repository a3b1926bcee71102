// SPDX-License-Identifier: Apache-2.0
#include "net/client/readiness.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

namespace pawl::client {
namespace {

bool is_readable(const Readiness& readiness) {
  pollfd entry{.fd = readiness.descriptor(), .events = POLLIN, .revents = 0};
  return ::poll(&entry, 1, 0) == 1;
}

struct Pair {
  Pair() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0); }
  ~Pair() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  void write() const { EXPECT_EQ(::write(ends[1], "x", 1), 1); }
  std::array<int, 2> ends{};
};

TEST(Readiness, IsReadableFromAWakeUpUntilItIsCleared) {
  Readiness readiness;
  ASSERT_EQ(readiness.error(), 0);
  EXPECT_FALSE(is_readable(readiness));
  readiness.wake();
  readiness.wake();
  EXPECT_TRUE(is_readable(readiness));
  readiness.wait_until(std::chrono::steady_clock::time_point::max());
  readiness.clear();
  EXPECT_FALSE(is_readable(readiness));
  readiness.clear();
  readiness.wait_until(std::chrono::steady_clock::time_point::min());
}

TEST(Readiness, FollowsTheWatchedSocket) {
  Readiness readiness;
  const Pair first, second;
  first.write();
  EXPECT_FALSE(is_readable(readiness));
  readiness.watch(first.ends[0], POLLIN);
  EXPECT_TRUE(is_readable(readiness));
  readiness.watch(second.ends[0], POLLIN);
  EXPECT_FALSE(is_readable(readiness)) << "the first is not watched any more";
  readiness.watch(second.ends[0], POLLOUT);
  EXPECT_TRUE(is_readable(readiness)) << "it is writable";
  readiness.watch(-1, 0);
  EXPECT_FALSE(is_readable(readiness));
}

TEST(Readiness, WatchesAnotherSocketOfTheSameNumberAfterForget) {
  Readiness readiness;
  int number = -1;
  {
    const Pair closed;
    number = closed.ends[0];
    readiness.watch(number, POLLIN);
  }
  const Pair open;
  ASSERT_EQ(open.ends[0], number);
  open.write();
  readiness.watch(number, POLLIN);
  EXPECT_FALSE(is_readable(readiness)) << "nothing says that it is another socket";
  readiness.forget();
  readiness.watch(number, POLLIN);
  EXPECT_TRUE(is_readable(readiness));
}

// The number may be that of a file of another thread.
TEST(Readiness, TouchesNoForgottenSocket) {
  Readiness readiness;
  const Pair pair;
  readiness.watch(pair.ends[0], POLLIN);
  pair.write();
  readiness.forget();
  readiness.watch(-1, 0);
  EXPECT_TRUE(is_readable(readiness)) << "it was not taken out of the set";
}

}  // namespace
}  // namespace pawl::client

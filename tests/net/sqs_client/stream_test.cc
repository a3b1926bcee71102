// SPDX-License-Identifier: Apache-2.0
#include "net/sqs_client/stream.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

namespace pawl::sqs_client {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class StreamWait : public testing::Test {
 protected:
  StreamWait() { EXPECT_EQ(::pipe(ends_), 0); }
  ~StreamWait() override {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  int ends_[2]{};
};

TEST_F(StreamWait, ReportsReadyDescriptorsAlsoAtTheDeadline) {
  EXPECT_TRUE(wait_until(ends_[1], POLLOUT, Clock::now() + 60s));
  EXPECT_TRUE(wait_until(ends_[1], POLLOUT, Clock::now()));
  EXPECT_TRUE(wait_until(ends_[1], POLLOUT, Clock::now() - 1s));
  EXPECT_FALSE(wait_until(ends_[0], POLLIN, Clock::now()));
}

TEST_F(StreamWait, LastsUntilTheDeadlineAndNotShorter) {
  const Clock::time_point begun = Clock::now();
  EXPECT_FALSE(wait_until(ends_[0], POLLIN, begun + 30ms));
  EXPECT_GE(Clock::now() - begun, 30ms);
}

TEST_F(StreamWait, LastsAcrossASignal) {
  struct sigaction quiet{}, before{};
  quiet.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGUSR1, &quiet, &before), 0);
  const Clock::time_point begun = Clock::now();
  const pthread_t waiting = ::pthread_self();
  std::thread sender([&] {
    std::this_thread::sleep_for(20ms);
    ::pthread_kill(waiting, SIGUSR1);
  });
  EXPECT_FALSE(wait_until(ends_[0], POLLIN, begun + 100ms));
  EXPECT_GE(Clock::now() - begun, 100ms);
  sender.join();
  ::sigaction(SIGUSR1, &before, nullptr);
}

}  // namespace
}  // namespace pawl::sqs_client

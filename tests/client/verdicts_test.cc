// SPDX-License-Identifier: Apache-2.0
#include "net/client/verdicts.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <thread>
#include <vector>

namespace pawl::client {
namespace {

using Mode = Verdicts::Mode;
using std::chrono_literals::operator""s;

class VerdictsTest : public testing::Test {
 protected:
  bool is_woken() const {
    pollfd entry{.fd = readiness_.descriptor(), .events = POLLIN, .revents = 0};
    return ::poll(&entry, 1, 0) == 1;
  }
  Readiness readiness_;
  Verdicts verdicts_{readiness_};
  std::vector<TokenVerdict> arrived_;
};

TEST_F(VerdictsTest, WakesTheDriverOnceWhenItSleeps) {
  verdicts_.complete({1, 1}, Verdict::done());
  EXPECT_FALSE(is_woken()) << "nobody sleeps";
  EXPECT_FALSE(verdicts_.sleep()) << "a verdict has arrived";
  EXPECT_EQ(verdicts_.collect(arrived_), Mode::running);
  EXPECT_EQ(arrived_.size(), 1u);
  ASSERT_TRUE(verdicts_.sleep());
  verdicts_.complete({1, 2}, Verdict::retry_in(5s));
  EXPECT_TRUE(is_woken());
  verdicts_.complete({2, 2}, Verdict::dead());
  verdicts_.collect(arrived_);
  EXPECT_FALSE(is_woken());
  ASSERT_EQ(arrived_.size(), 2u);
  EXPECT_EQ(arrived_[0].token.use, 2u);
  EXPECT_EQ(arrived_[0].verdict.kind, Verdict::Kind::retry);
  EXPECT_EQ(arrived_[0].verdict.delay, 5s);
  EXPECT_EQ(arrived_[1].verdict.kind, Verdict::Kind::dead);
  verdicts_.collect(arrived_);
  EXPECT_TRUE(arrived_.empty());
}

TEST_F(VerdictsTest, IsIdleWhenTheDriverReportsItInTheNewMode) {
  verdicts_.report({.under_way = 0}, Mode::running);
  verdicts_.advance(Mode::draining);
  EXPECT_TRUE(is_woken());
  EXPECT_FALSE(verdicts_.is_idle()) << "the report is older than the mode";
  EXPECT_FALSE(verdicts_.wait_idle(Clock::now()));
  EXPECT_EQ(verdicts_.collect(arrived_), Mode::draining);
  verdicts_.report({.under_way = 1}, Mode::draining);
  EXPECT_FALSE(verdicts_.is_idle());
  std::thread driver([&] { verdicts_.report({.under_way = 0}, Mode::draining); });
  EXPECT_TRUE(verdicts_.wait_idle(Clock::now() + 10s));
  driver.join();
  verdicts_.advance(Mode::releasing);
  verdicts_.advance(Mode::draining);
  EXPECT_EQ(verdicts_.collect(arrived_), Mode::releasing) << "a mode never goes back";
}

}  // namespace
}  // namespace pawl::client

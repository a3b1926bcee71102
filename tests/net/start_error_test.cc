// SPDX-License-Identifier: Apache-2.0
#include "net/server/start_error.h"

#include <gtest/gtest.h>

#include <expected>
#include <string>

namespace pawl {
namespace {

std::expected<void, StartError> without_a_port() {
  return std::unexpected(std::string("the port is taken"));
}

TEST(StartError, ATextAloneIsAFaultOfTheMachine) {
  const auto refused = without_a_port();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text, "the port is taken");
  EXPECT_EQ(refused.error().fault, StartFault::machine);
}

TEST(StartError, WithoutATextNothingHasFailed) {
  EXPECT_FALSE(StartError{}.failed());
  EXPECT_TRUE(StartError("s01 is lost", StartFault::data).failed());
}

}  // namespace
}  // namespace pawl

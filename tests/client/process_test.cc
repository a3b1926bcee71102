// SPDX-License-Identifier: Apache-2.0
#include "net/client/process.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pawl::client {
namespace {

TEST(Process, AnObjectIsAtHomeInTheProcessThatMadeItAlone) {
  const HomeProcess object;
  EXPECT_TRUE(object.is_here());
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const HomeProcess of_child;
    ::_exit(!object.is_here() && of_child.is_here() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(object.is_here());
}

}  // namespace
}  // namespace pawl::client

// SPDX-License-Identifier: Apache-2.0
#include "tests/cost/instructions.h"

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace pawl::test {
namespace {

[[noreturn]] void run_traced(const std::function<void()>& work) {
  if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(1);
  ::raise(SIGSTOP);
  work();
  ::raise(SIGSTOP);
  ::_exit(0);
}

bool stopped_by(pid_t child, int signal) {
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFSTOPPED(status) && WSTOPSIG(status) == signal;
}

}  // namespace

std::uint64_t instructions(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) run_traced(work);
  bool steps = child > 0 && stopped_by(child, SIGSTOP);
  EXPECT_TRUE(steps) << "the child cannot be traced";
  std::uint64_t count = 0;
  while (steps && count < instructions_max) {
    steps = ::ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) == 0 && stopped_by(child, SIGTRAP);
    count += steps ? 1 : 0;
  }
  EXPECT_LT(count, instructions_max);
  if (child > 0) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  return count;
}

}  // namespace pawl::test

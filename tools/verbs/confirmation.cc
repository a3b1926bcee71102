// SPDX-License-Identifier: Apache-2.0
#include "tools/verbs/confirmation.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <string>

#include "core/base/check.h"

namespace pawl {

void add_confirmation(Verb verb, bool& yes) {
  verb.flag("--yes", yes, "Do not ask; required where the standard input is no terminal");
}

bool is_confirmed(bool yes, const Destroyed& destroyed) {
  const auto& [owner, count, things] = destroyed;
  CHECK(!owner.empty() && !things.empty(), "{} of nothing", count);
  if (yes) return true;
  if (isatty(STDIN_FILENO) == 0) {
    fmt::print(stderr, "error: {} has {} {}, which would be deleted. Add --yes to do it.\n", owner,
               count, things);
    return false;
  }
  fmt::print(stderr, "The {0} has {1} {2}, which will be deleted. Type {1} to do it: ", owner,
             count, things);
  std::string typed;
  if (std::getline(std::cin, typed) && typed == std::to_string(count)) return true;
  fmt::print(stderr, "error: \"{}\" is not {}. Nothing was deleted.\n", typed, count);
  return false;
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "tools/verbs/confirmation.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <string>

namespace pawl {

void add_confirmation(Verb verb, bool& yes) {
  verb.flag("--yes", yes, "Do not ask; required where the standard input is no terminal");
}

bool is_confirmed(bool yes, std::string_view queue, std::int64_t messages) {
  if (yes) return true;
  if (isatty(STDIN_FILENO) == 0) {
    fmt::print(stderr,
               "error: queue \"{}\" has {} messages, which would be deleted. Add --yes to do it.\n",
               queue, messages);
    return false;
  }
  fmt::print(stderr,
             "Queue \"{0}\" has {1} messages, which will be deleted. Type {1} to do it: ", queue,
             messages);
  std::string typed;
  if (std::getline(std::cin, typed) && typed == std::to_string(messages)) return true;
  fmt::print(stderr, "error: \"{}\" is not {}. Nothing was deleted.\n", typed, messages);
  return false;
}

}  // namespace pawl

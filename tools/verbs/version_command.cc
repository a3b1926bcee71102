// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "tools/commands.h"

namespace pawl {

void add_version_command(CommandLine& line) {
  Verb verb = line.add_verb("version", "Prints the version and how the program was built");
  verb.on_given([] {
    fmt::print("pawl {}\ncompiler {}\nbuild    {}\n", PAWL_VERSION, PAWL_COMPILER, PAWL_BUILD);
    return exit_ok;
  });
}

}  // namespace pawl

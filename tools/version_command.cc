// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include "tools/commands.h"

namespace pawl {

void add_version_command(CLI::App& app, int& code) {
  CLI::App* verb =
      app.add_subcommand("version", "Prints the version and how the program was built");
  verb->callback([&code] {
    fmt::print("pawl {}\ncompiler {}\nbuild    {}\n", PAWL_VERSION, PAWL_COMPILER, PAWL_BUILD);
    code = exit_ok;
  });
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// pawl: one program, one verb per task. `pawl serve` is the server.
#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <cstdio>

#include "tools/arguments.h"
#include "tools/commands.h"

namespace pawl {
namespace {

int run(int argc, char** argv) {
  CLI::App app("pawl: a message queue for one Linux server, with the semantics of Amazon SQS.",
               "pawl");
  app.set_version_flag("--version", "pawl " PAWL_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(32);
  int code = exit_ok;
  add_serve_command(app, code);
  add_bench_command(app, code);
  add_doctor_command(app, code);
  add_wal_command(app, code);
  add_replay_command(app, code);
  add_version_command(app, code);
  app.footer(
      "`pawl <verb> --help` says more. Exit codes: 0 ok, 1 failure, 2 usage, 3 not found, 4 check "
      "failed.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wanted) {  // --help, --version
    return app.exit(wanted);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "error: {}\n", explain(app, error));
    return exit_usage;
  }
  return code;
}

}  // namespace
}  // namespace pawl

int main(int argc, char** argv) { return pawl::run(argc, argv); }

// SPDX-License-Identifier: Apache-2.0
// The verbs of the `pawl` program.
//
// Each add_ function adds one verb to the command line. If the verb is given with valid arguments,
// it runs during the parse and stores its exit code in `code`.
//
// Errors: to stderr, as `error: what failed, the value, what to do`.
// Owner:  main(), one thread; `code` outlives the parse.
#pragma once

namespace CLI {
class App;
}

namespace pawl {

// Exit codes on which scripts may rely.
enum ExitCode : int {
  exit_ok = 0,
  exit_failure = 1,
  exit_usage = 2,
  exit_not_found = 3,
  exit_check_failed = 4,
};

void add_serve_command(CLI::App& app, int& code);
void add_bench_command(CLI::App& app, int& code);
void add_doctor_command(CLI::App& app, int& code);
void add_wal_command(CLI::App& app, int& code);
void add_replay_command(CLI::App& app, int& code);
void add_version_command(CLI::App& app, int& code);

}  // namespace pawl

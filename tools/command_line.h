// SPDX-License-Identifier: Apache-2.0
// The command line: verbs with their options, help texts and functions.
//
//   CommandLine line("pawl: ...", "0.1.0");
//   Verb bench = line.add_verb("bench", "Loads a server");
//   bench.option("--rate", rate, "Messages a second").check(number(0, 1e9)).show_default();
//   bench.on_given([&] { return run(rate); });
//   return line.run(argc, argv);
//
// A facade of CLI11, whose headers only command_line.cc includes: each inclusion costs 5 s of
// compile time.
//
// Errors: run() prints `error: ...` and the command for help to stderr, and returns exit_usage.
// Owner:  CommandLine. Verb and Option are handles, valid as long as it lives; bound variables must
//         live until run() returns.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/arguments.h"
#include "tools/verb_row.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace pawl {

// Exit codes on which scripts may rely.
enum ExitCode : int {
  exit_ok = 0,
  exit_failure = 1,
  exit_usage = 2,
  exit_not_found = 3,
  exit_check_failed = 4,
};

// Prints `error: text` to stderr, and returns the code.
int fail_with(ExitCode code, std::string_view text);

// An option, flag or positional argument of a verb. Each function returns the same handle.
class Option {
 public:
  Option value_name(const std::string& name);  // the value in help texts, as ADDR:PORT
  Option check(ValueCheck accept);
  Option check_existing_file();
  Option show_default();  // adds the variable's present value to the help text
  Option required();
  Option excludes(Option other);
  Option value_optional();  // accepts the name without a value; the variable is then empty
  Option several();         // a positional argument takes all words that are left, joined so:
  Option join_repeats();    // repeated values are joined with line breaks; otherwise refused

  bool given() const;  // after the parse: it is on the command line

 private:
  friend class Verb;
  explicit Option(CLI::Option& option) : option_(&option) {}

  CLI::Option* option_;
};

class Verb {
 public:
  // `names`: "--data", or "DIR,--data" for an argument that is accepted by position and by name.
  // The variable has the default, and gets the value during the parse.
  Option option(const std::string& names, std::string& value, const std::string& help);
  Option option(const std::string& names, std::uint32_t& value, const std::string& help);
  Option option(const std::string& names, std::uint64_t& value, const std::string& help);
  Option option(const std::string& names, double& value, const std::string& help);
  Option flag(const std::string& name, bool& value, const std::string& help);

  Verb add_verb(const std::string& name, const std::string& help);  // `pawl THIS NAME`
  void require_verb();                                              // exactly one verb must follow
  void hide();                           // leaves it out of help texts, suggestions and verbs()
  void footer(const std::string& text);  // the end of the help text
  // Called at the end of a valid parse if this verb is given, and none below it; returns the exit
  // code.
  void on_given(std::function<int()> run);

 private:
  friend class CommandLine;
  Verb(CLI::App& app, int& code) : app_(&app), code_(&code) {}

  CLI::App* app_;
  int* code_;  // exit code of the program
};

class CommandLine {
 public:
  // `text`: the first line of `pawl --help`. `version`: printed by --version.
  CommandLine(const std::string& text, const std::string& version);
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  ~CommandLine();

  Verb add_verb(const std::string& name, const std::string& help);
  void footer(const std::string& text);
  // The program, and every verb behind the one that contains it.
  std::vector<VerbRow> verbs() const;

  // Parses the words and calls the function of the given verb. Returns the exit code.
  int run(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
  int code_ = exit_ok;
};

}  // namespace pawl

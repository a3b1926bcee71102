// pawl: one program, one verb per task. `pawl serve` is the server.
#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <string>
#include <vector>

#include "tools/commands.h"
#include "tools/suggest.h"

namespace pawl {
namespace {

std::vector<std::string> verbs_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands({})) names.push_back(verb->get_name());
  return names;
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

// The verb that was given, down to the last one: of `pawl wal dump` it is dump.
const CLI::App& chosen(const CLI::App& app) {
  const auto verbs = app.get_subcommands();
  return verbs.empty() ? app : chosen(*verbs.front());
}

std::string path_of(const CLI::App& app) {
  return app.get_parent() == nullptr ? "pawl" : path_of(*app.get_parent()) + " " + app.get_name();
}

int explain(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& at = chosen(app);
  std::string text = error.what();
  const std::vector<std::string> rest = app.remaining(true);
  if (!rest.empty()) {
    const std::string word = rest.front().substr(0, rest.front().find('='));
    const bool is_flag = word.starts_with("-");
    const std::vector<std::string> known = is_flag ? flags_of(at) : verbs_of(at);
    if (is_flag || !known.empty())
      text = fmt::format("{} knows no {} \"{}\".{}", path_of(at), is_flag ? "flag" : "verb", word,
                         suggestion(word, known));
    else
      text = fmt::format("{} does not expect \"{}\".", path_of(at), word);
  }
  fmt::print(stderr, "error: {}\nSee `{} --help`.\n", text, path_of(at));
  return exit_usage;
}

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
    return explain(app, error);
  }
  return code;
}

}  // namespace
}  // namespace pawl

int main(int argc, char** argv) { return pawl::run(argc, argv); }

// SPDX-License-Identifier: Apache-2.0
#include "tools/command_line.h"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/format.h"
#include "proto/text/suggest.h"

namespace pawl {
namespace {

constexpr std::size_t help_column = 32;  // column of the descriptions in help texts

std::vector<std::string> verbs_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands({}))
    if (!verb->get_group().empty()) names.push_back(verb->get_name());
  return names;
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

// The innermost verb that was given: `dump` for `pawl wal dump`.
const CLI::App& chosen(const CLI::App& app) {
  const auto verbs = app.get_subcommands();
  return verbs.empty() ? app : chosen(*verbs.front());
}

std::string path_of(const CLI::App& app) {
  return app.get_parent() == nullptr ? "pawl" : path_of(*app.get_parent()) + " " + app.get_name();
}

std::string explain_extra(const CLI::App& at, const std::string& extra) {
  const std::string word = extra.substr(0, extra.find('='));
  const bool is_flag = word.starts_with("-");
  const std::vector<std::string> known = is_flag ? flags_of(at) : verbs_of(at);
  if (!is_flag && known.empty())
    return fmt::format("{} does not expect \"{}\".", path_of(at), word);
  if (is_flag)
    return fmt::format("{} has no flag \"{}\".{}", path_of(at), word, hint_for_flag(word, known));
  // Words of other programs have their hints where the verb of a task is looked for.
  std::string hint = at.get_parent() == nullptr ? hint_for_verb(word, known) : "";
  if (hint.empty()) hint = suggestion(word, known);
  if (hint.empty()) hint = fmt::format(" Its verbs: {}.", join_texts(known, ", "));
  return fmt::format("{} has no verb \"{}\".{}", path_of(at), word, hint);
}

// Texts of the library: "NAME: 1 required TYPE missing", "NAME is required" and
// "NAME: At Most 1 required but received 2".
std::string explain_option(const CLI::App& at, const std::string& text, bool missing) {
  const std::string name = text.substr(0, text.find_first_of(": "));
  const CLI::Option* const option = at.get_option_no_throw(name);
  if (option == nullptr) return text + ".";
  const std::string type = option->get_type_name();
  const std::string value = type.empty() ? "a value" : type;
  const std::string names =
      option->get_positional() ? fmt::format("{} or {}", option->get_name(true), name) : name;
  if (missing)
    return fmt::format("{} needs {}: {}.", path_of(at), names, option->get_description());
  if (text.find("missing") != text.npos)
    return fmt::format("{} needs {} after it: {}.", name, value, option->get_description());
  return fmt::format("{} takes one value, but is given more than once. Give it once.", names);
}

// `app`: the whole command line, after parse() has thrown `error`.
std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& at = chosen(app);
  std::string text = error.what();
  const std::vector<std::string> rest = app.remaining(true);
  const std::string kind = error.get_name();
  const bool extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  if (!rest.empty() && (extra || kind == "RequiredError")) {
    text = explain_extra(at, rest.front());
  } else if (kind == "RequiredError" && text.find("subcommand") != text.npos) {
    text = fmt::format("{} needs a verb: {}.", path_of(at), join_texts(verbs_of(at), ", "));
  } else if (kind == "RequiredError" || kind == "ArgumentMismatch") {
    text = explain_option(at, text, kind == "RequiredError");
  }
  return fmt::format("{}\nSee `{} --help`.", text, path_of(at));
}

// `pawl nosuch --help` asks for the help of a verb that does not exist; empty: it exists.
std::string explain_unknown_verb(const CLI::App& app) {
  const CLI::App& at = chosen(app);
  const std::vector<std::string> rest = app.remaining(true);
  if (rest.empty() || rest.front().starts_with("-") || verbs_of(at).empty()) return {};
  return fmt::format("{}\nSee `{} --help`.", explain_extra(at, rest.front()), path_of(at));
}

OptionRow row_of(const CLI::Option& option) {
  OptionRow row{{}, option.get_type_name(), option.get_description(), option.get_positional()};
  row.repeats = option.get_multi_option_policy() == CLI::MultiOptionPolicy::Join;
  if (const std::string value = option.get_default_str(); !value.empty())
    row.help += fmt::format(" (default: {})", value);
  for (const std::string& name : option.get_snames()) row.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) row.names.push_back("--" + name);
  if (row.positional) row.value = option.get_name(true);
  return row;
}

void add_rows(const CLI::App& app, std::vector<VerbRow>& rows) {
  VerbRow row{path_of(app), app.get_description(), app.get_footer(), {}};
  for (const CLI::Option* option : app.get_options()) row.options.push_back(row_of(*option));
  rows.push_back(std::move(row));
  for (const CLI::App* verb : app.get_subcommands({}))
    if (!verb->get_group().empty()) add_rows(*verb, rows);
}

}  // namespace

// --- options ---

Option Option::value_name(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Option Option::check(ValueCheck accept) {
  option_->check(std::move(accept));
  return *this;
}

Option Option::check_existing_file() {
  option_->check(CLI::Validator(CLI::ExistingFile).description(""));
  return *this;
}

Option Option::show_default() {
  option_->capture_default_str();
  return *this;
}

Option Option::required() {
  option_->required();
  return *this;
}

Option Option::excludes(Option other) {
  option_->excludes(other.option_);
  return *this;
}

Option Option::value_optional() {
  option_->expected(0, 1);
  return *this;
}

Option Option::several() {
  option_->allow_extra_args();
  return join_repeats();
}

Option Option::join_repeats() {
  option_->multi_option_policy(CLI::MultiOptionPolicy::Join);
  return *this;
}

bool Option::given() const { return option_->count() > 0; }

// --- verbs ---

Option Verb::option(const std::string& names, std::string& value, const std::string& help) {
  return Option(*app_->add_option(names, value, help));
}

Option Verb::option(const std::string& names, std::uint32_t& value, const std::string& help) {
  return Option(*app_->add_option(names, value, help));
}

Option Verb::option(const std::string& names, std::uint64_t& value, const std::string& help) {
  return Option(*app_->add_option(names, value, help));
}

Option Verb::option(const std::string& names, double& value, const std::string& help) {
  return Option(*app_->add_option(names, value, help));
}

Option Verb::flag(const std::string& name, bool& value, const std::string& help) {
  return Option(*app_->add_flag(name, value, help));
}

Verb Verb::add_verb(const std::string& name, const std::string& help) {
  return {*app_->add_subcommand(name, help), *code_};
}

void Verb::require_verb() { app_->require_subcommand(1); }

void Verb::hide() { app_->group(""); }

void Verb::footer(const std::string& text) { app_->footer(text); }

void Verb::on_given(std::function<int()> run) {
  app_->callback([app = app_, code = code_, run = std::move(run)] {
    if (app->get_subcommands().empty()) *code = run();
  });
}

// --- the command line ---

CommandLine::CommandLine(const std::string& text, const std::string& version)
    : app_(std::make_unique<CLI::App>(text, "pawl")) {
  app_->set_version_flag("--version", "pawl " + version);
  app_->require_subcommand(1);
  app_->get_formatter()->column_width(help_column);
}

CommandLine::~CommandLine() = default;

Verb CommandLine::add_verb(const std::string& name, const std::string& help) {
  return {*app_->add_subcommand(name, help), code_};
}

void CommandLine::footer(const std::string& text) { app_->footer(text); }

std::vector<VerbRow> CommandLine::verbs() const {
  std::vector<VerbRow> rows;
  add_rows(*app_, rows);
  return rows;
}

int CommandLine::run(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::Success& wanted) {  // --help, --version
    if (const std::string text = explain_unknown_verb(*app_); !text.empty())
      return fail_with(exit_usage, text);
    return app_->exit(wanted);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "error: {}\n", explain(*app_, error));
    return exit_usage;
  }
  return code_;
}

int fail_with(ExitCode code, std::string_view text) {
  CHECK(code != exit_ok && !text.empty(), "nothing failed");
  fmt::print(stderr, "error: {}\n", text);
  return code;
}

}  // namespace pawl

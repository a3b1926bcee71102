// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "proto/text/json_dom.h"
#include "tools/commands.h"
#include "tools/config/config_file.h"
#include "tools/config/configuration.h"
#include "tools/config/environment.h"
#include "tools/config/serve_flags.h"
#include "tools/config/server_options.h"
#include "tools/config/setting_differences.h"
#include "tools/printer.h"
#include "tools/verbs/admin_port.h"
#include "tools/verbs/response_json.h"

namespace pawl {
namespace {

struct ConfigRequest {
  ServeFlags flags;
  std::string file;
  std::string admin;
  OutputOptions output;
};

// The text of a file. Without a value the error was printed.
std::optional<std::string> file_text(const std::string& path, ExitCode code) {
  CHECK(!path.empty(), "a file without a name");
  auto text = read_config_file(path);
  if (text) return std::move(*text);
  fail_with(code, text.error());
  return std::nullopt;
}

int show_settings(const ConfigRequest& asked) {
  const UnknownVariables unknown = unknown_variables();
  if (!unknown.refused.empty()) return fail_with(exit_usage, unknown.refused.front());
  GivenValues given = asked.flags.given();
  read_environment(given);
  std::optional<std::string> text{""};
  if (!asked.flags.config.empty()) text = file_text(asked.flags.config, exit_usage);
  if (!text) return exit_usage;
  const Configuration read = read_configuration(std::move(given), *text, asked.flags.config);
  if (!read.faults.empty()) return fail_with(exit_usage, read.faults.front());
  Printer printer(stdout, asked.output.format(), {"key", "value", "source"});
  for (const ToldSetting& one : setting_texts(read.given, read.options)) {
    printer.add({
        .cells = {{"section", one.section},
                  {"key", one.key, fmt::format("{}.{}", one.section, one.key)},
                  {"value", one.value},
                  {"source", one.source}}
    });
  }
  return printer.end();
}

// "FILE:LINE:COLUMN: text", in two parts; a fault of a flag has its name as place.
std::pair<std::string, std::string> place_and_text(const std::string& fault) {
  const std::size_t end = fault.find(": ");
  CHECK(end != fault.npos, "a fault without a place: {}", fault);
  return {fault.substr(0, end), fault.substr(end + 2)};
}

int check_file(const ConfigRequest& asked) {
  const auto text = file_text(asked.file, exit_failure);
  if (!text) return exit_failure;
  const Configuration read = read_configuration(asked.flags.given(), *text, asked.file);
  const Faults faults = all_faults(read, asked.file, asked.flags.insecure);
  const bool lines = asked.output.format() == OutputFormat::table;
  Printer printer(stdout, asked.output.format(), {"place", "error"});
  for (const std::string& fault : faults) {
    auto [place, error] = place_and_text(fault);
    if (lines)
      fmt::print("{}: {}\n", place, error);
    else
      printer.add({
          .cells = {{"place", std::move(place)}, {"error", std::move(error)}}
      });
  }
  if (!lines && printer.end() != exit_ok) return exit_failure;
  if (faults.empty() && lines) fmt::print("{}: ok\n", asked.file);
  if (std::fflush(stdout) != 0) return fail_with(exit_failure, "cannot write to stdout.");
  return faults.empty() ? exit_ok : exit_check_failed;
}

// The settings of the running server. Without a value the error was printed.
std::optional<std::vector<ToldSetting>> running_settings(const std::string& admin) {
  const auto page = get_admin_page({.admin = admin}, "/config");
  if (!page) {
    fail_with(exit_failure,
              fmt::format("{}. Is `pawl serve` running with --admin {}?", page.error(), admin));
    return std::nullopt;
  }
  JsonDom dom;
  const auto document = page->status == 200 ? dom.parse(page->text) : std::nullopt;
  if (!document) {
    fail_with(exit_failure,
              fmt::format("{} does not tell its settings (HTTP {}). Name the admin port of a pawl "
                          "server of this version, on loopback.",
                          admin, page->status));
    return std::nullopt;
  }
  std::vector<ToldSetting> found;
  for (const JsonValue one : document->items())
    found.push_back({text_of(one, "section"), text_of(one, "key"), text_of(one, "value"),
                     text_of(one, "source")});
  return found;
}

int diff_file(const ConfigRequest& asked) {
  const auto text = file_text(asked.file, exit_failure);
  if (!text) return exit_failure;
  const Configuration read = read_configuration({}, *text, asked.file);
  if (!read.faults.empty()) return fail_with(exit_usage, read.faults.front());
  const auto running = running_settings(asked.admin);
  if (!running) return exit_failure;
  Printer printer(stdout, asked.output.format(), {"key", "running", "source", "file"});
  const auto differences = setting_differences(*running, setting_texts(read.given, read.options));
  for (const auto& [_, now, wanted] : differences) {
    printer.add({
        .cells = {{"section", wanted.section},
                  {"key", wanted.key, fmt::format("{}.{}", wanted.section, wanted.key)},
                  {"running", now.value},
                  {"source", now.source.empty() ? "unknown to the server" : now.source},
                  {"file", wanted.value},
                  {"file_source", wanted.source}}
    });
  }
  const int code = printer.end();
  if (differences.empty() && asked.output.format() == OutputFormat::table)
    fmt::print("No setting of the server at {} differs from {}.\n", asked.admin, asked.file);
  return code != exit_ok ? code : differences.empty() ? exit_ok : exit_check_failed;
}

}  // namespace

void add_config_command(CommandLine& line) {
  Verb verb = line.add_verb("config", "Shows and checks the settings of `pawl serve`");
  verb.require_verb();
  const auto shown = std::make_shared<ConfigRequest>();
  Verb show = verb.add_verb("show", "Shows each setting and where it is from; starts nothing");
  add_serve_flags(show, shown->flags);
  add_config_flag(show, shown->flags);
  add_output(show, shown->output, "{section, key, value, source}");
  show.on_given([shown] { return show_settings(*shown); });

  const auto checked = std::make_shared<ConfigRequest>();
  Verb check = verb.add_verb(
      "check", "Reports every error of a file for `pawl serve --config`: exit code 0, otherwise 4");
  check.option("FILE,--file", checked->file, "The TOML file").required();
  add_serve_flags(check, checked->flags);
  add_output(check, checked->output, "{place, error}");
  check.footer(
      "The flags are those with which the server would start; variables are not read. The file is "
      "checked\nas for a server without queues. Files that it names are not opened.");
  check.on_given([checked] { return check_file(*checked); });

  const auto compared = std::make_shared<ConfigRequest>();
  compared->admin = default_admin();
  Verb diff = verb.add_verb(
      "diff",
      "Shows how a running server's settings differ from a file's: exit code 0, otherwise 4");
  diff.option("FILE,--file", compared->file, "The TOML file").required();
  diff.option("--admin", compared->admin,
              "Admin port of the server; the variable PAWL_LISTEN_ADMIN changes the default")
      .value_name("[https://]ADDR:PORT")
      .show_default();
  add_output(diff, compared->output, "{section, key, running, source, file, file_source}");
  diff.on_given([compared] { return diff_file(*compared); });
}

}  // namespace pawl

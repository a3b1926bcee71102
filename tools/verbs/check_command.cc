// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "proto/text/json_dom.h"
#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/printer.h"
#include "tools/verbs/admin_port.h"
#include "tools/verbs/check_queues.h"
#include "tools/verbs/nagios.h"
#include "tools/verbs/response_json.h"

namespace pawl {
namespace {

struct HealthRequest {
  std::string admin;
  std::uint32_t timeout_ms = 2000;
  bool nagios = false;
  OutputOptions output;
};

std::expected<AdminPageText, std::string> ask(const HealthRequest& asked, const std::string& path) {
  CHECK(asked.timeout_ms > 0, "no time for {}", path);
  return get_admin_page(
      {.admin = asked.admin, .timeout = std::chrono::milliseconds(asked.timeout_ms)}, path);
}

int explain_unreachable(const HealthRequest& asked, const std::string& error) {
  if (asked.nagios) return print_nagios(NagiosLevel::critical, error);
  return fail_with(exit_failure,
                   fmt::format("{}. Is `pawl serve` running with --admin {}?", error, asked.admin));
}

int check_ready(const HealthRequest& asked) {
  const auto page = ask(asked, "/readyz");
  if (!page) return explain_unreachable(asked, page.error());
  // Any other server may have a page at every path.
  if (page->status != 503 && (page->status != 200 || !page->text.starts_with("ok")))
    return explain_unreachable(asked, fmt::format("{} does not respond to /readyz like a server "
                                                  "of pawl (HTTP {})",
                                                  asked.admin, page->status));
  fmt::print("{}", page->text);
  return page->status == 200 ? exit_ok : exit_failure;
}

// A row of /healthz?verbose.
struct CheckRow {
  std::string check, shard, level, text, code, remedy;
};

std::vector<CheckRow> rows_of_health(std::string_view page) {
  std::vector<CheckRow> rows;
  while (!page.empty()) {
    const std::string_view line = page.substr(0, page.find('\n'));
    page.remove_prefix(std::min(line.size() + 1, page.size()));
    JsonDom dom;
    const auto document = dom.parse(line);
    if (!document || !document->is_object()) continue;
    const auto shard = number_of(*document, "shard");
    rows.push_back({text_of(*document, "check"), shard ? fmt::format("{}", *shard) : "",
                    text_of(*document, "level"), text_of(*document, "text"),
                    text_of(*document, "code"), text_of(*document, "remedy")});
  }
  return rows;
}

int print_health(const HealthRequest& asked, const std::vector<CheckRow>& rows, bool fault) {
  Printer printer(stdout, asked.output.format(), {"check", "shard", "level", "code", "text"});
  for (const CheckRow& row : rows) {
    fault = fault || row.level != "ok";
    printer.add({
        .cells = {{"check", row.check},
                  {"shard", row.shard},
                  {"level", row.level},
                  {"code", row.code},
                  {"text", row.text},
                  {"remedy", row.remedy}},
        .note = row.remedy
    });
  }
  if (const int code = printer.end(); code != exit_ok) return code;
  return fault ? exit_check_failed : exit_ok;
}

// The worst row is named.
int print_health_for_nagios(const std::vector<CheckRow>& rows, bool fault) {
  const auto named = [&rows](std::string_view level) {
    const auto row = std::ranges::find(rows, level, &CheckRow::level);
    if (row == rows.end()) return std::string();
    return fmt::format("{}{}: {} ({})", row->check, row->shard.empty() ? "" : " " + row->shard,
                       row->text, row->code);
  };
  if (const std::string error = named("error"); fault || !error.empty())
    return print_nagios(NagiosLevel::critical, error.empty() ? "the server has a fault" : error);
  if (const std::string warning = named("warning"); !warning.empty())
    return print_nagios(NagiosLevel::warning, warning);
  return print_nagios(NagiosLevel::ok, fmt::format("{} checks", rows.size()));
}

// The rows of /healthz?verbose: warnings come with status 200, some errors with 503.
int check_server(const HealthRequest& asked) {
  const auto page = ask(asked, "/healthz?verbose");
  if (!page) return explain_unreachable(asked, page.error());
  if (page->status == 401) {
    const std::string error = refusal_of(asked.admin, "/healthz?verbose", *page) + ".";
    return asked.nagios ? print_nagios(NagiosLevel::unknown, error)
                        : fail_with(exit_failure, error);
  }
  const std::vector<CheckRow> rows = rows_of_health(page->text);
  if ((page->status != 200 && page->status != 503) || rows.empty()) {
    const std::string error =
        fmt::format("{} responds to /healthz?verbose with status {} and {} checks", asked.admin,
                    page->status, rows.size());
    return asked.nagios ? print_nagios(NagiosLevel::unknown, error)
                        : explain_unreachable(asked, error);
  }
  CHECK(rows.size() <= page->text.size(), "{} rows of {} bytes", rows.size(), page->text.size());
  const bool fault = page->status == 503;
  return asked.nagios ? print_health_for_nagios(rows, fault) : print_health(asked, rows, fault);
}

void add_admin(Verb verb, HealthRequest& asked) {
  verb.option("--admin", asked.admin,
              "Admin port of the server; the variable PAWL_LISTEN_ADMIN changes the default")
      .value_name("[https://]ADDR:PORT")
      .show_default();
  verb.option("--timeout", asked.timeout_ms, "Milliseconds to wait for the answer")
      .value_name("MS")
      .check(whole_number(1, 600'000))
      .show_default();
}

}  // namespace

void add_check_command(CommandLine& line) {
  Verb verb = line.add_verb("check", "Checks a running server, or the settings of queues");
  const auto asked = std::make_shared<HealthRequest>();
  asked->admin = default_admin();
  add_admin(verb, *asked);
  verb.flag("--nagios", asked->nagios, "One line and the exit codes of a plugin for Nagios");
  add_output(verb, asked->output, "{check, shard, level, code, text, remedy}");
  verb.footer(
      "Without a verb it prints the health of the server. Exit codes: 0 healthy, 4 it has a fault "
      "or a warning, 1 not reachable; with --nagios 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.");
  verb.on_given([asked] { return check_server(*asked); });
  Verb health =
      verb.add_verb("health", "Asks whether the server is ready: exit code 0, otherwise 1");
  add_admin(health, *asked);
  health.on_given([asked] { return check_ready(*asked); });
  add_check_queues(verb);
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/verbs/admin_port.h"
#include "tools/verbs/check_queues.h"
#include "tools/verbs/nagios.h"

namespace pawl {
namespace {

struct HealthRequest {
  std::string admin;
  std::uint32_t timeout_ms = 2000;
  bool nagios = false;
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
  fmt::print("{}", page->text);
  return page->status == 200 ? exit_ok : exit_failure;
}

// The first line of the page with this word; empty: none has it.
std::string_view line_with(std::string_view page, std::string_view word) {
  const std::size_t at = page.find(word);
  if (at == page.npos) return {};
  const std::size_t before = page.rfind('\n', at);
  const std::size_t begin = before == page.npos ? 0 : before + 1;
  return page.substr(begin, page.find('\n', at) - begin);
}

// The rows of /healthz?verbose: those of level warning come with status 200, faults with 503.
int check_server(const HealthRequest& asked) {
  const auto page = ask(asked, "/healthz?verbose");
  if (!page) return explain_unreachable(asked, page.error());
  if (page->status != 200 && page->status != 503) {
    const std::string error =
        fmt::format("{} responds to /healthz with status {}", asked.admin, page->status);
    return asked.nagios ? print_nagios(NagiosLevel::unknown, error)
                        : explain_unreachable(asked, error);
  }
  const std::string_view text = page->text;
  const std::string_view warning = line_with(text, "warning");
  const bool fault = page->status == 503;
  if (!asked.nagios) {
    fmt::print("{}", text);
    return fault || !warning.empty() ? exit_check_failed : exit_ok;
  }
  const std::string_view first = text.substr(0, text.find('\n'));
  if (fault)
    return print_nagios(NagiosLevel::critical, first.empty() ? "not healthy" : std::string(first));
  if (!warning.empty()) return print_nagios(NagiosLevel::warning, std::string(warning));
  return print_nagios(NagiosLevel::ok, "the server is healthy");
}

void add_admin(Verb verb, HealthRequest& asked) {
  verb.option("--admin", asked.admin,
              "Admin port of the server; the variable PAWL_LISTEN_ADMIN changes the default")
      .value_name("ADDR:PORT")
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

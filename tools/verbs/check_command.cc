// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/verbs/admin_port.h"

namespace pawl {
namespace {

struct HealthRequest {
  std::string admin;
  std::uint32_t timeout_ms = 2000;
};

int check_health(const HealthRequest& asked) {
  const auto page = get_admin_page(
      {.admin = asked.admin, .timeout = std::chrono::milliseconds(asked.timeout_ms)}, "/readyz");
  if (!page) {
    fmt::print(stderr, "error: {}. Is `pawl serve` running with --admin {}?\n", page.error(),
               asked.admin);
    return exit_failure;
  }
  fmt::print("{}", page->text);
  return page->status == 200 ? exit_ok : exit_failure;
}

}  // namespace

void add_check_command(CommandLine& line) {
  Verb verb = line.add_verb("check", "Checks a running server");
  verb.require_verb();
  const auto asked = std::make_shared<HealthRequest>();
  asked->admin = default_admin();
  Verb health =
      verb.add_verb("health", "Asks whether the server is ready: exit code 0, otherwise 1");
  health
      .option("--admin", asked->admin,
              "Admin port of the server; the variable PAWL_LISTEN_ADMIN changes the default")
      .value_name("ADDR:PORT")
      .show_default();
  health.option("--timeout", asked->timeout_ms, "Milliseconds to wait for the answer")
      .value_name("MS")
      .check(whole_number(1, 600'000))
      .show_default();
  health.on_given([asked] { return check_health(*asked); });
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <poll.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <expected>
#include <memory>
#include <string>

#include "net/sqs_client/endpoint.h"
#include "net/sqs_client/http_response.h"
#include "net/sqs_client/plain_stream.h"
#include "tools/arguments.h"
#include "tools/commands.h"

namespace pawl {
namespace {

using sqs_client::HttpResponse;
using CheckClock = std::chrono::steady_clock;

constexpr std::size_t page_bytes_max = 64 << 10;

struct HealthRequest {
  std::string admin;
  std::uint32_t timeout_ms = 2000;
};

// The address of a server of the same settings: in a container both have the same variables.
std::string default_admin() {
  const char* const given = std::getenv("PAWL_LISTEN_ADMIN");
  std::string address = given != nullptr && *given != 0 ? given : "127.0.0.1:9325";
  for (const std::string any : {"0.0.0.0:", "[::]:"})
    if (address.starts_with(any)) address.replace(0, any.size(), "127.0.0.1:");
  return address;
}

struct Page {
  int status = 0;
  std::string text;
};

std::expected<Page, std::string> get_page(const HealthRequest& asked, const std::string& path) {
  const auto endpoint = sqs_client::parse_endpoint("http://" + asked.admin);
  if (!endpoint) return std::unexpected(endpoint.error());
  const std::chrono::milliseconds timeout(asked.timeout_ms);
  const auto deadline = CheckClock::now() + timeout;
  auto stream = sqs_client::open_plain_stream(*endpoint, {.connect_timeout = timeout});
  if (!stream) return std::unexpected(stream.error().text);
  const std::string request =
      fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", path,
                  sqs_client::host_header(*endpoint));
  if (const auto sent = (*stream)->send(request); !sent || *sent != request.size())
    return std::unexpected(fmt::format("{} takes no request", asked.admin));
  std::string received;
  while (received.size() <= page_bytes_max && CheckClock::now() < deadline) {
    const auto got = (*stream)->receive(received);
    const HttpResponse response = sqs_client::read_response(received);
    if (response.state == HttpResponse::State::complete)
      return Page{response.status, std::string(response.body)};
    if (!got || response.state == HttpResponse::State::broken)
      return std::unexpected(fmt::format("{} does not respond in HTTP", asked.admin));
    if (*got == 0 && !sqs_client::wait_until((*stream)->descriptor(), POLLIN, deadline)) break;
  }
  return std::unexpected(
      fmt::format("{} did not respond within {} ms", asked.admin, asked.timeout_ms));
}

int check_health(const HealthRequest& asked) {
  const auto page = get_page(asked, "/readyz");
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

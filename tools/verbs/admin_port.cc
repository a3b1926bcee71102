// SPDX-License-Identifier: Apache-2.0
#include "tools/verbs/admin_port.h"

#include <fmt/core.h>
#include <poll.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "core/base/check.h"
#include "net/sqs_client/curl_stream.h"
#include "net/sqs_client/endpoint.h"
#include "net/sqs_client/http_response.h"
#include "net/sqs_client/plain_stream.h"

namespace pawl {
namespace {

using sqs_client::HttpResponse;
using AdminClock = std::chrono::steady_clock;

constexpr std::size_t metrics_bytes_max = 64 << 20;
constexpr std::chrono::milliseconds metrics_timeout{10'000};

// The status and body of a response that has arrived.
AdminPageText page_of(const HttpResponse& response) {
  CHECK(response.state == HttpResponse::State::complete, "state {}",
        static_cast<int>(response.state));
  return {response.status,
          response.chunked ? sqs_client::join_chunks(response.body) : std::string(response.body)};
}

// The header for a server of the same settings: the variable names the file with the token.
std::expected<std::string, std::string> token_header() {
  const char* const path = std::getenv("PAWL_LISTEN_ADMIN_TOKEN");
  if (path == nullptr || *path == 0) return {};
  std::ifstream file(path);
  std::string token;
  if (!file.is_open() && errno == ENOENT)  // probably the token itself, which is not shown
    return std::unexpected(
        "PAWL_LISTEN_ADMIN_TOKEN names no file; it is the path of the server's --admin-token");
  if (!(file >> token))
    return std::unexpected(
        fmt::format("PAWL_LISTEN_ADMIN_TOKEN {}: no token can be read from this file", path));
  return fmt::format("Authorization: Bearer {}\r\n", token);
}

// The certificates that https trusts; empty: those of the system.
std::string trusted_certificates() {
  for (const char* const name : {"PAWL_LISTEN_TLS_CERT", "SSL_CERT_FILE"})
    if (const char* const path = std::getenv(name); path != nullptr && *path != 0) return path;
  return {};
}

bool is_yes(const char* value) {
  const std::string_view text = value == nullptr ? "" : value;
  return text == "yes" || text == "true";
}

}  // namespace

std::string default_admin() {
  const char* const given = std::getenv("PAWL_LISTEN_ADMIN");
  std::string address = given != nullptr && *given != 0 ? given : "127.0.0.1:9325";
  for (const std::string any : {"0.0.0.0:", "[::]:"})
    if (address.starts_with(any)) address.replace(0, any.size(), "127.0.0.1:");
  return is_yes(std::getenv("PAWL_LISTEN_ADMIN_TLS")) ? "https://" + address : address;
}

std::expected<AdminPageText, std::string> get_admin_page(const AdminPageRequest& asked,
                                                         const std::string& path) {
  CHECK(path.starts_with('/'), "path {}", path);
  const bool has_scheme = asked.admin.contains("://");
  const auto endpoint =
      sqs_client::parse_endpoint(has_scheme ? asked.admin : "http://" + asked.admin);
  if (!endpoint) return std::unexpected(endpoint.error());
  const auto deadline = AdminClock::now() + asked.timeout;
  sqs_client::StreamOptions options{.connect_timeout = asked.timeout};
  options.ca_file = trusted_certificates();
  auto stream = endpoint->tls ? sqs_client::open_curl_stream(*endpoint, options)
                              : sqs_client::open_plain_stream(*endpoint, options);
  // The question behind the reason is about the HTTP port; callers ask about this one.
  if (!stream)
    return std::unexpected(stream.error().text.substr(0, stream.error().text.find(". ")));
  const auto token = token_header();
  if (!token) return std::unexpected(token.error());
  const std::string request =
      fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{}\r\n", path,
                  sqs_client::host_header(*endpoint), *token);
  if (const auto sent = (*stream)->send(request); !sent || *sent != request.size())
    return std::unexpected(fmt::format("{} takes no request", asked.admin));
  std::string received;
  std::size_t wanted = 0;  // bytes before the next look
  while (received.size() <= asked.bytes_max && AdminClock::now() < deadline) {
    const auto got = (*stream)->receive(received);
    const bool look = !got || *got == 0 || received.size() >= wanted;
    const HttpResponse response = look ? sqs_client::read_response(received) : HttpResponse();
    if (response.state == HttpResponse::State::complete) return page_of(response);
    if (!got || response.state == HttpResponse::State::broken)
      return std::unexpected(fmt::format("{} does not respond in HTTP", asked.admin));
    if (look) wanted = received.size() * 2;  // a long page is not read again for each piece
    if (*got == 0 && !sqs_client::wait_until((*stream)->descriptor(), POLLIN, deadline)) break;
  }
  if (received.size() > asked.bytes_max)
    return std::unexpected(
        fmt::format("{} responds with more than {} bytes", asked.admin, asked.bytes_max));
  return std::unexpected(
      fmt::format("{} did not respond within {} ms", asked.admin, asked.timeout.count()));
}

std::string refusal_of(const std::string& admin, const std::string& path,
                       const AdminPageText& page) {
  CHECK(page.status != 200, "{} was answered", path);
  if (page.status == 401)
    return fmt::format(
        "{} refuses {} with 401: it needs the server's token. Set PAWL_LISTEN_ADMIN_TOKEN to the "
        "path of the file that the server has as --admin-token",
        admin, path);
  return fmt::format("{} refuses {} with {}: {}", admin, path, page.status,
                     page.text.substr(0, page.text.find('\n')));
}

std::expected<std::string, std::string> get_metrics(const std::string& admin) {
  auto page = get_admin_page(
      {.admin = admin, .timeout = metrics_timeout, .bytes_max = metrics_bytes_max}, "/metrics");
  if (!page) return std::unexpected(page.error());
  if (page->status != 200) return std::unexpected(refusal_of(admin, "/metrics", *page));
  return std::move(page->text);
}

}  // namespace pawl

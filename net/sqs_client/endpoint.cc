// SPDX-License-Identifier: Apache-2.0
#include "net/sqs_client/endpoint.h"

#include <algorithm>
#include <charconv>

#include "core/base/check.h"
#include "proto/text/text.h"

namespace pawl::sqs_client {
namespace {

constexpr std::uint16_t http_port = 80;
constexpr std::uint16_t https_port = 443;

std::uint16_t default_port(bool tls) { return tls ? https_port : http_port; }

// The host becomes a header line and a part of a URL.
bool is_host(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return c > ' ' && c < 0x7F &&
           std::string_view("\"#%/<>?@[\\]^`{|}").find(c) == std::string_view::npos;
  });
}

std::string bracketed(const std::string& host) {
  return host.find(':') == host.npos ? host : "[" + host + "]";
}

std::unexpected<std::string> refused(std::string_view text) {
  std::string shown(text);
  make_printable(shown);
  return std::unexpected("the endpoint \"" + shown +
                         "\" is not of the form http://host:port or https://host:port");
}

}  // namespace

std::optional<HostPort> split_host_port(std::string_view text) {
  const bool v6 = text.starts_with('[');
  const std::size_t end = v6 ? text.find(']') : std::min(text.find(':'), text.size());
  if (end == text.npos) return std::nullopt;
  const std::string_view rest = text.substr(end + (v6 ? 1 : 0));
  if (!rest.empty() && !rest.starts_with(':')) return std::nullopt;
  if (rest.find(':', 1) != rest.npos) return std::nullopt;  // an IPv6 address without brackets
  const HostPort split{std::string(text.substr(v6 ? 1 : 0, end - (v6 ? 1 : 0))),
                       std::string(rest.empty() ? rest : rest.substr(1))};
  return split.host.empty() ? std::nullopt : std::optional(split);
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, port);
  if (error != std::errc() || stop != end || port == 0) return std::nullopt;
  return port;
}

std::expected<Endpoint, std::string> parse_endpoint(std::string_view text) {
  constexpr std::string_view plain = "http://", secure = "https://";
  std::string_view rest = text.empty() ? local_endpoint : text;
  Endpoint endpoint{.tls = starts_with_ignoring_case(rest, secure)};
  if (!endpoint.tls && !starts_with_ignoring_case(rest, plain)) return refused(text);
  rest.remove_prefix(endpoint.tls ? secure.size() : plain.size());
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  endpoint.path = rest.substr(std::min(slash + 1, rest.size()));
  if (endpoint.path.find_first_of("?#") != endpoint.path.npos) return refused(text);
  std::optional<HostPort> split = split_host_port(rest.substr(0, slash));
  if (!split || !is_host(split->host)) return refused(text);
  endpoint.host = std::move(split->host);
  const auto port = split->port.empty() ? default_port(endpoint.tls) : parse_port(split->port);
  if (!port) return refused(text);
  endpoint.port = *port;
  CHECK(endpoint.port != 0, "port 0 in {}", text);
  return endpoint;
}

std::string host_header(const Endpoint& endpoint) {
  std::string host = bracketed(endpoint.host);
  if (endpoint.port == default_port(endpoint.tls)) return host;
  return host + ":" + std::to_string(endpoint.port);
}

std::string url_of(const Endpoint& endpoint) {
  CHECK(!endpoint.host.empty(), "an endpoint without a host");
  return (endpoint.tls ? "https://" : "http://") + bracketed(endpoint.host) + ":" +
         std::to_string(endpoint.port);
}

}  // namespace pawl::sqs_client

// SPDX-License-Identifier: Apache-2.0
#include "net/connection/http_guard.h"

#include <fmt/core.h>

#include <algorithm>

#include "proto/http/page_marks.h"
#include "proto/http/strictness.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

// "name", "1.2.3.4" or "[::1]" of a Host header; the parser accepts only well-formed ones.
std::string_view without_port(std::string_view host) {
  const std::size_t from = host.starts_with('[') ? host.find(']') : 0;
  return host.substr(0, host.find(':', from));
}

// The address of a numeric host; nothing for a name.
std::optional<PeerAddress> numeric(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.contains('/')) return std::nullopt;
  const std::optional<Network> one = Network::parse(host);
  return one ? std::optional(one->address) : std::nullopt;
}

bool is_loopback(const PeerAddress& address) {
  static const Network v4 = *Network::parse("127.0.0.0/8");
  static const Network v6 = *Network::parse("::1");
  return v4.contains(address) || v6.contains(address);
}

// Shortens a header value, which may be long, for an error text.
std::string_view cut(std::string_view text) { return text.substr(0, 100); }

std::string_view first_of_list(std::string_view value) {
  value = value.substr(0, value.find(','));
  while (value.ends_with(' ')) value.remove_suffix(1);
  return value;
}

bool is_probe(std::string_view path) { return path == "/livez" || path == "/readyz"; }

}  // namespace

bool is_loopback_host(std::string_view host) {
  const auto address = numeric(host);
  return address ? is_loopback(*address) : equals_ignoring_case(host, "localhost");
}

bool HttpGuard::serves(std::string_view host) const {
  if (is_loopback_host(host) || (rules_.any_address && numeric(host))) return true;
  return std::ranges::any_of(rules_.hosts, [&](const std::string& allowed) {
    return equals_ignoring_case(host, allowed);
  });
}

bool HttpGuard::allows(std::string_view origin) const {
  return std::ranges::any_of(rules_.origins, [&](const std::string& allowed) {
    return equals_ignoring_case(origin, allowed);
  });
}

std::string HttpGuard::refuse(const HttpRequest& request) const {
  if (rules_.probes_only) {
    if (is_probe(request.path)) return {};
    return fmt::format(
        "{} is not served: other machines can reach this port, which asks nobody for credentials. "
        "It answers /livez and /readyz alone. Start the server with --admin 127.0.0.1:PORT to see "
        "all pages from its machine, or with --insecure-no-auth to show them to everybody.\n",
        cut(request.path));
  }
  if (!rules_.ask) return {};
  if (rules_.any_host && !is_of_browser(request)) return {};
  if (const auto* host = request.header(HeaderName::host);
      host != nullptr && !serves(without_port(*host))) {
    return fmt::format(
        "Requests for the host {} are not served, because nobody is asked for a signature here: a "
        "page in a browser could have sent this. Start the server with --allow-host {} if that is "
        "its name.",
        cut(*host), cut(without_port(*host)));
  }
  const auto* origin = request.header(HeaderName::origin);
  if (origin != nullptr && !allows(*origin)) {
    return fmt::format(
        "Requests of pages from {} are not served, because nobody is asked for a signature here. "
        "Start the server with --allow-origin {} if that page is to be trusted.",
        cut(*origin), cut(*origin));
  }
  const auto* site = request.header(HeaderName::sec_fetch_site);
  if (site != nullptr && origin == nullptr &&
      (equals_ignoring_case(*site, "cross-site") || equals_ignoring_case(*site, "same-site"))) {
    return fmt::format(
        "Requests that a page makes a browser send (Sec-Fetch-Site: {}) are not served, because "
        "nobody is asked for a signature here. Start the server with --allow-origin and the origin "
        "of that page if it is to be trusted.",
        cut(*site));
  }
  return {};
}

std::string_view HttpGuard::cors_origin(const HttpRequest& request) const {
  const auto* origin = request.header(HeaderName::origin);
  return origin != nullptr && allows(*origin) ? *origin : std::string_view();
}

bool HttpGuard::is_proxy(const PeerAddress& peer) const {
  return std::ranges::any_of(rules_.proxies,
                             [&](const Network& network) { return network.contains(peer); });
}

void HttpGuard::name_server(HttpRequest& request, bool encrypted, bool behind_proxy) const {
  if (encrypted) request.scheme = "https";
  if (!behind_proxy) return;
  if (const auto* scheme = request.header(HeaderName::x_forwarded_proto)) {
    const std::string_view first = first_of_list(*scheme);
    if (equals_ignoring_case(first, "https")) request.scheme = "https";
    if (equals_ignoring_case(first, "http")) request.scheme = "http";
  }
  if (const auto* host = request.header(HeaderName::x_forwarded_host)) {
    const std::string_view first = first_of_list(*host);
    if (valid_host(first)) request.public_host = first;
  }
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Requests that are served without a signature, and the public name of a server behind a proxy.
//
// Without signatures, any program on this machine may use the server, but web pages in its browser
// need permission. A page can send forms to 127.0.0.1, or make its own name resolve to it. Both
// show in headers that a page cannot forge: Origin and Sec-Fetch-Site mark a page's request, and
// Host has the name that it used.
//
// Limits: none; the lists are the operator's.
// Errors: a text for the client: the refused value, and the flag that allows it.
// Owner:  the server; all shards read it, and it never changes.
// Source: Fetch Standard, "Origin header"; W3C Fetch Metadata; RFC 9110 section 7.2; for
//         X-Forwarded-*, common practice of proxies.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "net/connection/connection_limits.h"
#include "proto/http/parser.h"

namespace pawl {

struct HttpGuardRules {
  bool ask = true;                 // check Host and Origin, because signatures are not required
  bool any_host = false;           // of programs; requests of browsers are checked
  bool any_address = false;        // bound to all addresses: every numeric Host is accepted
  bool probes_only = false;        // of any Host: /livez and /readyz, and no other page
  std::vector<std::string> hosts;  // served besides localhost, 127.0.0.0/8 and [::1]; without port
  std::vector<std::string> origins;  // pages that may send requests: "https://console.example"
  std::vector<Network> proxies;      // their X-Forwarded-Proto and X-Forwarded-Host are trusted
};

// Whether a host without its port, such as "127.0.0.1", "[::1]" or "localhost", is of this machine
// alone.
bool is_loopback_host(std::string_view host);

class HttpGuard {
 public:
  explicit HttpGuard(HttpGuardRules rules) : rules_(std::move(rules)) {}

  // The reason for refusing the request; empty: it is served.
  std::string refuse(const HttpRequest& request) const;

  // The request's Origin if that page may read responses, else empty.
  std::string_view cors_origin(const HttpRequest& request) const;

  // Sets the scheme and host by which the client reaches this server, for queue URLs.
  void name_server(HttpRequest& request, bool encrypted, bool behind_proxy) const;
  bool is_proxy(const PeerAddress& peer) const;

 private:
  bool serves(std::string_view host) const;
  bool allows(std::string_view origin) const;

  HttpGuardRules rules_;
};

}  // namespace pawl

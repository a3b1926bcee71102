// Whose requests are served before anybody is asked for a signature, and what a server behind a proxy is
// called.
//
// Without signatures, whatever runs on this machine may use the server; a page in its browser runs there too.
// Such a page can send forms to 127.0.0.1, or have its own name resolve to it. Both show in headers that it
// cannot forge: Origin and Sec-Fetch-Site say that a page asks, Host says by which name.
//
// Limits: none; the lists are the operator's.
// Errors: a text for the caller: what was refused, and the flag that allows it.
// Owner:  the server; read by all shards, never changed.
// Source: Fetch Standard, "Origin header"; W3C Fetch Metadata; RFC 9110 section 7.2; for X-Forwarded-*,
//         what proxies agree on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "net/connection/peers.h"
#include "proto/http.h"

namespace pawl {

struct HttpGuardRules {
  bool ask = true;                 // look at Host and Origin: nobody is asked for a signature
  bool any_address = false;        // bound to all of them: every numeric Host is one of ours
  std::vector<std::string> hosts;  // served besides localhost, 127.0.0.0/8 and [::1]; without port
  std::vector<std::string> origins;  // pages that may ask: "https://console.example"
  std::vector<Network> proxies;      // whose X-Forwarded-Proto and -Host are believed
};

class HttpGuard {
 public:
  explicit HttpGuard(HttpGuardRules rules) : rules_(std::move(rules)) {}

  // Why the request is not served; empty: it is.
  std::string refuse(const HttpRequest& request) const;

  // The request's Origin if that page may read answers, else empty.
  std::string_view cors_origin(const HttpRequest& request) const;

  // Fills in what the client calls this server, for the URLs of queues.
  void name_server(HttpRequest& request, bool encrypted, bool behind_proxy) const;
  bool is_proxy(const PeerAddress& peer) const;

 private:
  bool serves(std::string_view host) const;
  bool allows(std::string_view origin) const;

  HttpGuardRules rules_;
};

}  // namespace pawl

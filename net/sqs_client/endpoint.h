// SPDX-License-Identifier: Apache-2.0
// The address of an SQS endpoint: http[s]://host[:port][/path].
//
// A queue URL is an endpoint too: its path names the queue, and requests go to `/` in any case.
//
// Errors: a sentence with the text that was refused and the accepted form.
// Owner:  values.
// Source: RFC 3986; user names, queries and fragments are refused.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::sqs_client {

struct Endpoint {
  bool tls = false;
  std::string host;  // an IPv6 address without its brackets
  std::uint16_t port = 0;
  std::string path;  // without the first slash; empty: none
};

inline constexpr std::string_view local_endpoint = "http://127.0.0.1:9324";

// An empty text is local_endpoint.
std::expected<Endpoint, std::string> parse_endpoint(std::string_view text);

// "host:port" or "[v6]:port"; the port may be absent. No value: there is no host.
struct HostPort {
  std::string host;
  std::string port;  // any text; empty: absent
};
std::optional<HostPort> split_host_port(std::string_view text);
// A number from 1 to 65535.
std::optional<std::uint16_t> parse_port(std::string_view text);

// "host:port", without the default port of the scheme: the value of the header Host.
std::string host_header(const Endpoint& endpoint);
// "https://host:port", for errors and for libcurl.
std::string url_of(const Endpoint& endpoint);

}  // namespace pawl::sqs_client

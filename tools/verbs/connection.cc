// SPDX-License-Identifier: Apache-2.0
#include "tools/verbs/connection.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/check.h"
#include "net/sqs_client/endpoint.h"
#include "tools/verbs/profile_option.h"

namespace pawl {
namespace {

struct Address {
  std::string host;
  std::uint16_t port = 0;
};

std::optional<Address> address_of(std::string_view text) {
  if (text.starts_with('/')) return Address{std::string(text), 0};  // a Unix socket
  auto split = sqs_client::split_host_port(text);
  const auto port = split ? sqs_client::parse_port(split->port) : std::nullopt;
  if (!port) return std::nullopt;
  return Address{std::move(split->host), *port};
}

std::string check_address(const std::string& text) {
  if (address_of(text)) return {};
  return fmt::format(
      "\"{}\" is not an address. Write ADDR:PORT, for example 127.0.0.1:9326, or the "
      "absolute path of a Unix socket.",
      text);
}

std::string explain(const ConnectionOptions& options, const Client::Error& error, bool has_key,
                    bool tls) {
  using Code = Client::Code;
  switch (error.code) {
    case Code::unreachable: {
      // The client library's error for an unknown host name.
      const bool unknown = error.system == EADDRNOTAVAIL;
      return fmt::format(
          "cannot reach {}: {}. Is `pawl serve` running there? --binary names its binary port.",
          options.binary, unknown ? "no such host" : std::strerror(error.system));
    }
    case Code::unauthorized:
      return has_key ? fmt::format(
                           "{} does not know the access key of AWS_ACCESS_KEY_ID or the "
                           "profile, or AWS_SECRET_ACCESS_KEY is not its secret. The server has "
                           "its keys in the file that `pawl serve --keys` names.",
                           options.binary)
                     : fmt::format(
                           "{} requires an access key. Set AWS_ACCESS_KEY_ID and "
                           "AWS_SECRET_ACCESS_KEY, or name a profile with --profile.",
                           options.binary);
    case Code::untrusted:
      return fmt::format(
          "no TLS connection to {}: the port has no TLS, or its certificate is not trusted. Name "
          "its certificate authority with --tls-ca.",
          options.binary);
    default:
      return fmt::format(
          "{} does not respond like the binary port of a pawl server {} TLS: {}. "
          "Name that port with --binary{}.",
          options.binary, tls ? "with" : "without", Client::name_of(error.code),
          tls ? "" : "; if it has TLS, add --tls");
  }
}

}  // namespace

void add_connection(Verb verb, ConnectionOptions& options) {
  verb.option("--binary", options.binary, "Binary port of a pawl server")
      .value_name("ADDR:PORT")
      .check(check_address)
      .show_default();
  verb.flag("--tls", options.tls, "Use TLS");
  verb.option("--tls-ca", options.ca_file,
              "Certificate authorities for TLS, PEM (default: those of the system)")
      .value_name("FILE")
      .check_existing_file();
  add_profile(verb, options.profile);
}

std::expected<Client, ExitCode> connect(const ConnectionOptions& options, const std::string& name) {
  const std::optional<Address> address = address_of(options.binary);
  CHECK(address.has_value(), "check_address() accepts \"{}\"", options.binary);
  Client::Options asked{.host = address->host, .port = address->port, .name = name};
  const auto access = access_of(options.profile);
  if (!access) return std::unexpected(exit_usage);
  asked.key_id = access->key.id;
  asked.secret = access->key.secret;
  asked.tls = options.tls || !options.ca_file.empty();
  asked.ca_file = options.ca_file;
  auto client = Client::connect(asked);
  if (client) return std::move(*client);
  fail_with(exit_failure, explain(options, client.error(), !asked.key_id.empty(), asked.tls));
  return std::unexpected(exit_failure);
}

}  // namespace pawl

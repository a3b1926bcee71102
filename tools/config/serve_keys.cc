// SPDX-License-Identifier: Apache-2.0
#include "tools/config/serve_keys.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <vector>

#include "core/base/check.h"
#include "core/base/ids.h"
#include "net/connection/connection_limits.h"
#include "net/io/unix_socket.h"
#include "proto/http/strictness.h"
#include "proto/text/text.h"
#include "tools/key_file.h"

namespace pawl {
namespace {

using Options = ServerOptions;

constexpr std::uint32_t connections_most = 1'000'000;
constexpr std::uint64_t memory_min = std::uint64_t{32} << 20;
constexpr std::size_t region_max = 64;
constexpr std::size_t http_addresses_max = 8;
constexpr std::uint32_t metrics_queues_max = 100'000;
using Text = std::string;

template <Text Options::* member>
bool assign_address(Options& options, const Text& text) {
  options.*member = text;
  return parse_listen_address(text).has_value();
}

// Values separated by commas or line breaks; each must pass `fits`.
template <std::vector<Text> Options::* member>
bool assign_list(Options& options, const Text& text, bool (*fits)(const Text&)) {
  std::size_t at = 0;
  while (at <= text.size()) {
    const std::size_t end = std::min(text.find_first_of(",\n", at), text.size());
    const Text one = text.substr(at, end - at);
    if (!fits(one)) return false;
    (options.*member).push_back(one);
    at = end + 1;
  }
  return true;
}

// The first address, then further ones.
bool assign_http(Options& options, const Text& text) {
  options.more_http.clear();
  const auto fits = [](const Text& one) { return parse_listen_address(one).has_value(); };
  if (!assign_list<&Options::more_http>(options, text, fits)) return false;
  options.http = options.more_http.front();
  options.more_http.erase(options.more_http.begin());
  return options.more_http.size() < http_addresses_max;
}

// The path is printed in the JSON of the ready line.
bool assign_unix_path(Options& options, const Text& text) {
  options.unix_path = text;
  const auto plain = [](char c) { return c >= ' ' && c != '"' && c != '\\' && c != '\x7f'; };
  return text.starts_with('/') && text.size() <= unix_path_max && std::ranges::all_of(text, plain);
}

// Octal, with access for the owner.
bool assign_unix_mode(Options& options, const Text& text) {
  unsigned mode = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mode, 8);
  options.unix_mode = mode;
  return error == std::errc() && end == text.data() + text.size() && mode <= 0777 &&
         (mode & 0600) == 0600;
}

bool assign_shards(Options& options, const Text& text) {
  const auto value = decimal_number(text);
  options.shards = static_cast<unsigned>(std::min<std::uint64_t>(value.value_or(0), UINT32_MAX));
  return options.shards >= 1 && options.shards <= shards_max;
}

bool assign_memory(Options& options, const Text& text) {
  const auto value = parse_size(text);
  options.memory = value.value_or(0);
  return options.memory >= memory_min;
}

bool assign_account(Options& options, const Text& text) {
  options.account = text;
  return is_account_id(text);
}

// "true" and "false" are the texts of TOML's booleans.
bool assign_yes_no(bool& value, const Text& text) {
  value = text == "yes" || text == "true";
  return value || text == "no" || text == "false";
}

bool assign_log_format(Options& options, const Text& text) {
  if (text == "text") options.log_format = LogFormat::text;
  if (text == "json") options.log_format = LogFormat::json;
  return text == "auto" || options.log_format.has_value();
}

// The region is a part of ARNs and of signatures.
bool assign_region(Options& options, const Text& text) {
  options.region = text;
  return !text.empty() && text.size() <= region_max &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == text.npos;
}

bool assign_base_url(Options& options, const Text& text) {
  options.base_url = text;
  if (!text.starts_with("http://") && !text.starts_with("https://")) return false;
  const std::size_t host = text.find("://") + 3;
  return valid_host(text.substr(host, text.find('/', host) - host));
}

bool assign_count(std::uint32_t& count, const Text& text, std::uint32_t max) {
  const auto value = decimal_number(text);
  if (!value || *value < 1 || *value > max) return false;
  count = static_cast<std::uint32_t>(*value);
  return true;
}

bool is_host(const Text& text) { return valid_host(text) && text.back() != ':'; }

// An origin as browsers write it: "null", or scheme and host without a path.
bool is_origin(const Text& text) {
  const std::size_t host = text.find("://");
  return text == "null" || (host != Text::npos && host > 0 && valid_host(text.substr(host + 3)));
}

bool is_network(const Text& text) { return Network::parse(text).has_value(); }

// clang-format off
const ServeKey keys[] = {
    {"server", "data", "data", "DIR", "The data directory; created if it does not exist", "./pawl-data",
     [](Options& o, const Text& t) { o.data = t; return !t.empty(); }},
    {"server", "dev", "dev", "yes|no", "For tests of programs: a directory that is deleted at the end, free ports and one shard unless given; any Host; "
     "see tools/TESTING.md", "no", [](Options& o, const Text& t) { return assign_yes_no(o.dev, t); }},
    {"server", "shards", "shards", "N", "Number of shards of a new data directory, 1 to 64", "one per core; with --dev one", assign_shards},
    {"server", "poll", "poll", "always|auto|never", "Whether an idle core spins before it sleeps", "auto",
     [](Options& o, const Text& t) { o.poll = t; return t == "always" || t == "auto" || t == "never"; }},
    {"server", "io", "io", "auto|uring|threads", "Backend for sockets and disk: io_uring, or threads where io_uring is refused", "auto",
     [](Options& o, const Text& t) { o.io = t; return t == "auto" || t == "uring" || t == "threads"; }},
    {"server", "landlock", "landlock", "auto|off", "Whether the server gives up access to files that it does not need, where the kernel has Landlock", "auto",
     [](Options& o, const Text& t) { o.landlock = t == "auto"; return t == "auto" || t == "off"; }},
    {"server", "memory", "memory", "SIZE", "Memory for messages, for example 512MiB or 4GiB; at least 32MiB", "at most half of what the machine or its control groups allow", assign_memory},
    {"server", "log-format", "log-format", "auto|text|json", "Format of the lines on stderr: sentences, or a JSON object for each event; auto: sentences on a terminal, otherwise JSON", "auto",
     assign_log_format, false, [](const Options& o) { event_log().write_as(log_format_of(o)); }},
    {"server", "trust-clock", "trust-clock", "yes|no", "After a reboot: count at once the time that the machine was off, by its wall clock", "no",
     [](Options& o, const Text& t) { return assign_yes_no(o.trust_clock, t); }},
    {"listen", "http", "http", "ADDR:PORT", "Address for SQS clients; port 0 picks a free one. May be repeated, for at most 8 addresses", "127.0.0.1:9324",
     assign_http, true},
    {"listen", "admin", "admin", "ADDR:PORT", "Address for health checks and metrics", "127.0.0.1:9325", assign_address<&Options::admin>},
    {"listen", "admin-token", "admin-token", "FILE", "A token that the admin port asks for, except for /livez and /readyz; SIGHUP reads it again", "none",
     [](Options& o, const Text& t) { o.admin_token_file = t; o.load_admin_token = [t] { return read_token_file(t); }; return !t.empty(); }},
    {"listen", "binary", "binary", "ADDR:PORT", "Address of the binary protocol", "127.0.0.1:9326", assign_address<&Options::binary>},
    {"listen", "unix", "unix", "PATH", "Absolute path of a Unix socket for the binary protocol, without TLS", "none", assign_unix_path},
    {"listen", "unix-mode", "unix-mode", "OCTAL", "Mode of the Unix socket: who may connect; 600 to 777", "600", assign_unix_mode},
    {"listen", "tls-cert", "tls-cert", "FILE", "Certificate chain (PEM) for http and binary; SIGHUP reloads it",
     "no TLS", [](Options& o, const Text& t) { o.tls_certificate = t; return !t.empty(); }},
    {"listen", "tls-key", "tls-key", "FILE", "Private key of the certificate (PEM, no passphrase)", "no TLS",
     [](Options& o, const Text& t) { o.tls_key = t; return !t.empty(); }},
    {"listen", "admin-tls", "admin-tls", "yes|no", "The admin port accepts TLS only, with the certificate of --tls-cert", "no",
     [](Options& o, const Text& t) { return assign_yes_no(o.admin_tls, t); }},
    {"listen", "max-connections", "max-connections", "N", "Limit of connections of all ports together, 1 to 1000000", "20000",
     [](Options& o, const Text& t) { return assign_count(o.connections_max, t, connections_most); }},
    {"listen", "max-connections-per-address", "max-connections-per-address", "N", "Limit of connections from one address, 1 to 1000000",
     "three quarters of --max-connections", [](Options& o, const Text& t) { return assign_count(o.address_connections_max, t, connections_most); }},
    {"listen", "allow-host", "allow-host", "NAME", "Without auth: another name of this server, besides localhost", "none",
     [](Options& o, const Text& t) { return assign_list<&Options::allow_hosts>(o, t, is_host); }, true},
    {"listen", "allow-origin", "allow-origin", "ORIGIN", "Without auth: a web page that may send requests, as https://host", "none",
     [](Options& o, const Text& t) { return assign_list<&Options::allow_origins>(o, t, is_origin); }, true},
    {"listen", "trusted-proxy", "trusted-proxy", "ADDR[/BITS]", "A proxy whose X-Forwarded-Proto and -Host headers are used", "none",
     [](Options& o, const Text& t) { return assign_list<&Options::trusted_proxies>(o, t, is_network); }, true},
    {"sqs", "auth", "auth", "none|sigv4", "Whether requests must be signed (http) and connections authenticated (binary)", "none",
     [](Options& o, const Text& t) { o.auth = t; return t == "none" || t == "sigv4"; }},
    {"sqs", "keys", "keys", "FILE", "Access keys: [[key]] tables with id, secret, account; SIGHUP reloads them", "none",
     [](Options& o, const Text& t) { o.keys_file = t; o.load_keys = [t] { return read_key_file(t); }; return !t.empty(); }},
    {"sqs", "max-queues-per-account", "max-queues-per-account", "N", "Limit of queues and topics of one account, 1 to 200000",
     "200000; with --auth sigv4 100000",
     [](Options& o, const Text& t) { return assign_count(o.account_queues_max, t, Directory::queues_max); }},
    {"sqs", "metrics-queues", "metrics-queues", "N", "Queues with metrics of their own, 1 to 100000; the others are summed as queue=\"__other__\"",
     "1000", [](Options& o, const Text& t) { return assign_count(o.metrics_queues, t, metrics_queues_max); }},
    {"sqs", "strict-sqs", "strict-sqs", "yes|no", "As on AWS, CreateQueue refuses the name of a queue for 60 s after its deletion, and Subscribe accepts a missing queue", "no",
     [](Options& o, const Text& t) { return assign_yes_no(o.strict_sqs, t); }},
    {"sqs", "region", "region", "NAME", "Region in ARNs: lower-case letters, digits and hyphens", "us-east-1", assign_region},
    {"sqs", "account", "account", "ID", "Account in ARNs and queue URLs, 12 digits", "000000000000", assign_account},
    {"sqs", "base-url", "base-url", "URL", "Beginning of all queue URLs, as https://queues.example, for clients behind a proxy",
     "scheme and Host of each request", assign_base_url},
};
// clang-format on

}  // namespace

LogFormat log_format_of(const ServerOptions& options) {
  return options.log_format.value_or(format_of_readers(STDERR_FILENO));
}

std::optional<ListenAddress> parse_listen_address(std::string_view text) {
  constexpr unsigned port_max = 65535;
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos || colon == 0) return std::nullopt;
  ListenAddress address{std::string(text.substr(0, colon))};
  const std::string_view port = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc() || end != port.data() + port.size() || port.empty() ||
      address.port > port_max)
    return std::nullopt;
  return address;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto value = decimal_number(text.substr(0, digits));
  std::string_view unit = text.substr(digits);
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  unsigned shift = 0;
  if (unit == "K" || unit == "KiB")
    shift = 10;
  else if (unit == "M" || unit == "MiB")
    shift = 20;
  else if (unit == "G" || unit == "GiB")
    shift = 30;
  else if (!unit.empty())
    return std::nullopt;
  if (!value || *value > UINT64_MAX >> shift) return std::nullopt;
  return *value << shift;
}

std::span<const ServeKey> serve_keys() { return keys; }

const ServeKey* find_serve_key(std::string_view section, std::string_view key) {
  for (const ServeKey& one : keys)
    if (section == one.section && key == one.key) return &one;
  return nullptr;
}

std::vector<std::string> serve_sections() {
  std::vector<std::string> names;
  for (const ServeKey& key : keys)
    if (std::ranges::find(names, key.section) == names.end()) names.emplace_back(key.section);
  CHECK(!names.empty(), "no section has a key");
  return names;
}

std::vector<std::string> serve_keys_of(std::string_view section) {
  std::vector<std::string> names;
  for (const ServeKey& key : keys)
    if (section == key.section) names.emplace_back(key.key);
  CHECK(!names.empty(), "[{}] is no section", section);
  return names;
}

bool is_same_value(const ServeKey& key, std::string_view one, std::string_view other) {
  if (std::string_view(key.value) != "SIZE") return one == other;
  const auto bytes = parse_size(one);
  return bytes ? bytes == parse_size(other) : one == other;
}

bool is_yes_no(const ServeKey& key) { return std::string_view(key.value) == "yes|no"; }

std::string variable_of(const ServeKey& key) {
  std::string name = fmt::format("PAWL_{}_{}", key.section, key.key);
  for (char& c : name)
    c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

}  // namespace pawl

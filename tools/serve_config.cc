// SPDX-License-Identifier: Apache-2.0
#include "tools/serve_config.h"

#include <fmt/core.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <vector>

#include "core/base/ids.h"
#include "net/connection/connection_limits.h"
#include "net/io/unix_socket.h"
#include "proto/http/strictness.h"
#include "proto/text/text.h"
#include "tools/declared_queues.h"
#include "tools/key_file.h"
#include "tools/suggest.h"
#include "tools/toml_text.h"

namespace pawl {
namespace {

using Fault = std::unexpected<std::string>;

// --- values ---

struct Address {
  std::string host;
  unsigned port = 0;
};

std::optional<Address> parse_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos || colon == 0) return std::nullopt;
  Address address{std::string(text.substr(0, colon))};
  const std::string_view port = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc() || end != port.data() + port.size() || port.empty() ||
      address.port > 65535)
    return std::nullopt;
  return address;
}

bool is_loopback(const std::string& host) {
  return host.starts_with("127.") || host == "localhost" || host == "[::1]" || host == "::1";
}

using Options = ServerOptions;

constexpr std::uint32_t connections_most = 1'000'000;
constexpr std::uint64_t memory_min = std::uint64_t{32} << 20;
constexpr std::size_t region_max = 64;
constexpr std::size_t http_addresses_max = 8;
using Text = std::string;

template <Text Options::* member>
bool assign_address(Options& options, const Text& text) {
  options.*member = text;
  return parse_address(text).has_value();
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
  const auto fits = [](const Text& one) { return parse_address(one).has_value(); };
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
    {"server", "log-format", "log-format", "text|json", "Format of the lines on stderr: sentences, or a JSON object for each event", "text",
     [](Options& o, const Text& t) { o.log_format = t == "json" ? LogFormat::json : LogFormat::text; return t == "text" || t == "json"; }},
    {"server", "trust-clock", "trust-clock", "yes|no", "After a reboot: count at once the time that the machine was off, by its wall clock", "no",
     [](Options& o, const Text& t) { return assign_yes_no(o.trust_clock, t); }},
    {"listen", "http", "http", "ADDR:PORT", "Address for SQS clients; port 0 picks a free one. May be repeated, for at most 8 addresses", "127.0.0.1:9324",
     assign_http, true},
    {"listen", "admin", "admin", "ADDR:PORT", "Address for health checks and metrics", "127.0.0.1:9325", assign_address<&Options::admin>},
    {"listen", "binary", "binary", "ADDR:PORT", "Address of the binary protocol", "127.0.0.1:9326", assign_address<&Options::binary>},
    {"listen", "unix", "unix", "PATH", "Absolute path of a Unix socket for the binary protocol, without TLS", "none", assign_unix_path},
    {"listen", "unix-mode", "unix-mode", "OCTAL", "Mode of the Unix socket: who may connect; 600 to 777", "600", assign_unix_mode},
    {"listen", "tls-cert", "tls-cert", "FILE", "Certificate chain (PEM) for http and binary; SIGHUP reloads it",
     "no TLS", [](Options& o, const Text& t) { o.tls_certificate = t; return !t.empty(); }},
    {"listen", "tls-key", "tls-key", "FILE", "Private key of the certificate (PEM, no passphrase)", "no TLS",
     [](Options& o, const Text& t) { o.tls_key = t; return !t.empty(); }},
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
    {"sqs", "max-queues-per-account", "max-queues-per-account", "N", "Limit of queues and topics of one account, 1 to 100000",
     "100000; with --auth sigv4 50000",
     [](Options& o, const Text& t) { return assign_count(o.account_queues_max, t, Directory::queues_max); }},
    {"sqs", "metrics-queues", "metrics-queues", "N", "Queues with metrics of their own, 1 to 100000; the others are summed as queue=\"__other__\"",
     "1000", [](Options& o, const Text& t) { return assign_count(o.metrics_queues, t, Directory::queues_max); }},
    {"sqs", "strict-sqs", "strict-sqs", "yes|no", "As on AWS, CreateQueue refuses the name of a queue for 60 s after its deletion, and Subscribe accepts a missing queue", "no",
     [](Options& o, const Text& t) { return assign_yes_no(o.strict_sqs, t); }},
    {"sqs", "region", "region", "NAME", "Region in ARNs: lower-case letters, digits and hyphens", "us-east-1", assign_region},
    {"sqs", "account", "account", "ID", "Account in ARNs and queue URLs, 12 digits", "000000000000", assign_account},
    {"sqs", "base-url", "base-url", "URL", "Beginning of all queue URLs, as https://queues.example, for clients behind a proxy",
     "scheme and Host of each request", assign_base_url},
};
// clang-format on

bool meet(const Address& one, const Address& other) {
  const auto any = [](const std::string& host) { return host == "0.0.0.0" || host == "[::]"; };
  return one.port != 0 && one.port == other.port &&
         (one.host == other.host || any(one.host) || any(other.host));
}

using Listeners = std::vector<std::pair<const char*, std::string>>;  // flag and address

// Those whose clients read and write messages.
Listeners message_listeners(const Options& options) {
  Listeners found = {
      {"http",   options.http  },
      {"binary", options.binary}
  };
  for (const std::string& more : options.more_http) found.emplace_back("http", more);
  return found;
}

// Two listeners cannot share a port.
std::expected<void, std::string> check_ports(const Options& options) {
  Listeners listeners = message_listeners(options);
  listeners.insert(std::next(listeners.begin()), {"admin", options.admin});
  for (std::size_t i = 0; i < listeners.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const auto& [flag, address] = listeners[i];
      const auto& [earlier, taken] = listeners[j];
      if (!meet(parse_address(address).value_or(Address{}),
                parse_address(taken).value_or(Address{})))
        continue;
      return Fault(
          fmt::format("--{} {}: --{} {} uses this port. Give each listener its own port (port 0 "
                      "picks a free one).",
                      flag, address, earlier, taken));
    }
  }
  return {};
}

// Defaults of a development server. An empty directory: one of its own, which the caller makes.
void use_dev_defaults(Options& options, const GivenValues& given) {
  options.segment_bytes = 2 << 20;  // the smallest, with room for the largest record
  options.spare_segments = 1;
  if (!given.contains("data")) options.data.clear();
  const std::pair<const char*, std::string*> addresses[] = {
      {"http",   &options.http  },
      {"admin",  &options.admin },
      {"binary", &options.binary}
  };
  for (const auto& [flag, address] : addresses)
    if (!given.contains(flag)) *address = "127.0.0.1:0";
}

// Checks settings that depend on each other.
std::expected<void, std::string> check_together(const Options& options) {
  if (options.auth == "sigv4" && !options.load_keys) {
    return Fault(
        "--auth sigv4 needs access keys: --keys FILE, a TOML file with [[key]] tables "
        "of "
        "id, secret and account.");
  }
  if (options.auth == "none" && options.load_keys)
    return Fault("--keys has no effect with --auth none. Add --auth sigv4, or omit --keys.");
  if (options.tls_certificate.empty() != options.tls_key.empty()) {
    return Fault(fmt::format("{} is given without {}: TLS needs both.",
                             options.tls_key.empty() ? "--tls-cert" : "--tls-key",
                             options.tls_key.empty() ? "--tls-key" : "--tls-cert"));
  }
  return check_ports(options);
}

std::string lower_bar(std::string text) {
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

std::vector<std::string> sections() {
  std::vector<std::string> names;
  for (const ServeKey& key : keys)
    if (std::find(names.begin(), names.end(), key.section) == names.end())
      names.push_back(key.section);
  return names;
}

std::vector<std::string> keys_of(std::string_view section) {
  std::vector<std::string> names;
  for (const ServeKey& key : keys)
    if (section == key.section) names.push_back(key.key);
  return names;
}

std::optional<std::string> value_of(const toml::node& node, bool repeats) {
  if (const toml::array* const all = node.as_array(); all != nullptr && repeats) {
    std::string joined;
    for (const toml::node& one : *all) {
      const auto text = one.value_exact<std::string>();
      if (!text) return std::nullopt;
      if (!joined.empty()) joined += ',';
      joined += *text;
    }
    return joined;
  }
  if (auto text = node.value_exact<std::string>()) return text;
  if (const auto whole = node.value_exact<std::int64_t>()) return std::to_string(*whole);
  if (const auto choice = node.value_exact<bool>()) return *choice ? "true" : "false";
  return std::nullopt;
}

std::expected<void, std::string> read_section(const std::string& path, const std::string& section,
                                              const toml::table& table, GivenValues& given) {
  for (const auto& [name, node] : table) {
    const std::string key = lower_bar(std::string(name.str()));
    const auto known = std::find_if(std::begin(keys), std::end(keys), [&](const ServeKey& k) {
      return section == k.section && key == k.key;
    });
    const std::string location = location_of(path, name.source());
    if (known == std::end(keys))
      return Fault(fmt::format("{}: [{}] has no key \"{}\".{}", location, section, name.str(),
                               suggestion(key, keys_of(section))));
    const auto text = value_of(node, known->repeats);
    if (!text)
      return Fault(fmt::format(
          "{}: {} must be {}.", location_of(path, node.source()), key,
          known->repeats ? "a string or an array of strings" : "a string or a whole number"));
    given.try_emplace(known->flag, *text, location_of(path, node.source()));
  }
  return {};
}

}  // namespace

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

std::string variable_of(const ServeKey& key) {
  std::string name = fmt::format("PAWL_{}_{}", key.section, key.key);
  for (char& c : name)
    c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

std::expected<std::string, std::string> read_config_file(const std::string& path) {
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown))
    return Fault(fmt::format("{}: is a directory. Name a TOML file with --config.", path));
  std::ifstream file(path);
  if (!file)
    return Fault(
        fmt::format("{}: cannot be read. Name a TOML file that exists with --config.", path));
  std::stringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

std::expected<void, std::string> read_config(std::string_view text, const std::string& path,
                                             GivenValues& given) {
  const auto parsed = parse_toml(text, path);
  if (!parsed) return Fault(parsed.error());
  for (const auto& [name, node] : *parsed) {
    const std::string section(name.str());
    if (std::ranges::find(declared_tables(), section) != declared_tables().end()) continue;
    std::vector<std::string> known = sections();
    if (std::find(known.begin(), known.end(), section) == known.end()) {
      for (const std::string_view table : declared_tables()) known.emplace_back(table);
      return Fault(fmt::format("{}: there is no section [{}].{}", location_of(path, name.source()),
                               section, suggestion(section, known)));
    }
    if (!node.is_table())
      return Fault(fmt::format("{}: {} is a section: write [{}].", location_of(path, name.source()),
                               section, section));
    if (auto read = read_section(path, section, *node.as_table(), given); !read) return read;
  }
  return {};
}

void read_environment(GivenValues& given) {
  for (const ServeKey& key : keys) {
    const std::string name = variable_of(key);
    if (const char* value = std::getenv(name.c_str()); value != nullptr && *value != 0)
      given.try_emplace(key.flag, value, name);
  }
}

std::vector<std::string> unknown_variables() {
  std::vector<std::string> known, unknown;
  for (const ServeKey& key : keys) known.push_back(variable_of(key));
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string name(text.substr(0, text.find('=')));
    if (!name.starts_with("PAWL_") || std::ranges::find(known, name) != known.end()) continue;
    const std::string meant = suggestion(name, known);
    const bool in_section = name.starts_with("PAWL_SERVER_") || name.starts_with("PAWL_LISTEN_") ||
                            name.starts_with("PAWL_SQS_");
    if (meant.empty() && !in_section) continue;
    unknown.push_back(fmt::format(
        "the environment variable {} is not a setting of pawl serve and has no effect.{}", name,
        meant));
  }
  return unknown;
}

std::expected<ServerOptions, std::string> make_server_options(const GivenValues& given) {
  ServerOptions options;
  options.landlock = true;  // this process does nothing else
  for (const ServeKey& key : keys) {
    const auto found = given.find(key.flag);
    if (found == given.end()) continue;
    const auto& [text, location] = found->second;
    if (!key.assign(options, text))
      return Fault(fmt::format("{}: \"{}\" is not valid. Expected {}: {} (default: {}).", location,
                               text, key.value, key.help, key.preset));
  }
  if (options.dev) use_dev_defaults(options, given);
  if (auto whole = check_together(options); !whole) return Fault(whole.error());
  return options;
}

bool reaches_others(const std::string& address) {
  return !is_loopback(parse_address(address).value_or(Address{}).host);
}

std::expected<void, std::string> check_exposure(const ServerOptions& options) {
  if (options.auth == "sigv4") return {};
  for (const auto& [flag, address] : message_listeners(options)) {
    if (!reaches_others(address)) continue;
    const std::string_view port = std::string_view(address).substr(address.rfind(':') + 1);
    return Fault(fmt::format(
        "cannot bind {} without credentials: every machine that reaches it could read and purge "
        "every queue. Bind loopback with --{} 127.0.0.1:{}, require signatures with --auth sigv4 "
        "--keys FILE, or pass --insecure-no-auth to accept the risk.",
        address, flag, port));
  }
  return {};
}

std::string exposure_warning(const ServerOptions& options) {
  if (options.dev || !options.tls_certificate.empty()) return {};
  for (const auto& [_, address] : message_listeners(options)) {
    if (!reaches_others(address)) continue;
    return fmt::format(
        "{} is served without TLS: others on the network can read messages and repeat signed "
        "requests. Give --tls-cert and --tls-key, or put a TLS proxy on this machine in front of "
        "it.",
        address);
  }
  return {};
}

}  // namespace pawl

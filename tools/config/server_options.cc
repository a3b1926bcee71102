// SPDX-License-Identifier: Apache-2.0
#include "tools/config/server_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

using Options = ServerOptions;

bool is_loopback(const std::string& host) {
  return host.starts_with("127.") || host == "localhost" || host == "[::1]" || host == "::1";
}

bool meet(const ListenAddress& one, const ListenAddress& other) {
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

// The fault, at the place of the setting.
std::string fault_at(const GivenValues& given, std::string_view flag, std::string_view text) {
  CHECK(!text.empty(), "--{} has a fault without a text", flag);
  const auto found = given.find(flag);
  if (found == given.end() || found->second.location.starts_with("--")) return std::string(text);
  return fmt::format("{}: {}", found->second.location, text);
}

// Two listeners cannot share a port.
void check_ports(const Options& options, const GivenValues& given, Faults& faults) {
  Listeners listeners = message_listeners(options);
  listeners.insert(std::next(listeners.begin()), {"admin", options.admin});
  for (std::size_t i = 0; i < listeners.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const auto& [flag, address] = listeners[i];
      const auto& [earlier, taken] = listeners[j];
      if (!meet(parse_listen_address(address).value_or(ListenAddress{}),
                parse_listen_address(taken).value_or(ListenAddress{})))
        continue;
      faults.push_back(fault_at(
          given, given.contains(flag) ? flag : earlier,
          fmt::format("--{} {}: --{} {} uses this port. Give each listener its own port (port 0 "
                      "picks a free one).",
                      flag, address, earlier, taken)));
    }
  }
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
void check_together(const Options& options, const GivenValues& given, Faults& faults) {
  const auto auth = given.find("auth");
  const bool refused = auth != given.end() && auth->second.text != options.auth;
  if (options.auth == "sigv4" && !given.contains("keys")) {
    faults.push_back(fault_at(given, "auth",
                              "--auth sigv4 needs access keys: --keys FILE, a TOML file with "
                              "[[key]] tables of id, secret and account."));
  }
  if (options.auth == "none" && options.load_keys && !refused) {
    faults.push_back(fault_at(
        given, "keys", "--keys has no effect with --auth none. Add --auth sigv4, or omit --keys."));
  }
  if (given.contains("tls-cert") != given.contains("tls-key")) {
    const bool lacks_key = given.contains("tls-cert");
    const char* const has = lacks_key ? "tls-cert" : "tls-key";
    faults.push_back(fault_at(given, has,
                              fmt::format("--{} is given without --{}: TLS needs both. Give the "
                                          "other one too, or neither.",
                                          has, lacks_key ? "tls-key" : "tls-cert")));
  }
  if (options.admin_tls && !given.contains("tls-cert") && !given.contains("tls-key"))
    faults.push_back(fault_at(given, "admin-tls",
                              "--admin-tls yes needs a certificate: --tls-cert FILE and --tls-key "
                              "FILE."));
  check_ports(options, given, faults);
}

// Without a key `dev` has no value of its own.
std::string_view dev_value(std::string_view flag) {
  if (flag == "http" || flag == "admin" || flag == "binary") return "127.0.0.1:0";
  if (flag == "data") return "a directory that is deleted at the end";
  return flag == "shards" ? "1" : "";
}

std::string shown(const ServeKey& key, std::string text) {
  if (is_yes_no(key)) return text == "true" ? "yes" : text == "false" ? "no" : text;
  std::replace(text.begin(), text.end(), '\n', ',');
  make_printable(text);
  return text;
}

}  // namespace

MadeOptions make_server_options(const GivenValues& given) {
  MadeOptions made;
  made.options.landlock = true;  // this process does nothing else
  for (const ServeKey& key : serve_keys()) {
    const auto found = given.find(key.flag);
    if (found == given.end()) continue;
    const auto& [text, location] = found->second;
    Options next = made.options;
    if (key.assign(next, text)) {
      made.options = std::move(next);
      continue;
    }
    const bool by_flag = location.starts_with("--");
    std::string value = text;
    make_printable(value);
    made.faults.push_back(fmt::format("{}: {}\"{}\" is not valid. Expected {}: {} (default: {}).",
                                      location, by_flag ? "" : fmt::format("{} = ", key.key), value,
                                      key.value, key.help, key.preset));
  }
  if (made.options.dev) use_dev_defaults(made.options, given);
  check_together(made.options, given, made.faults);
  return made;
}

std::vector<ToldSetting> setting_texts(const GivenValues& given, const ServerOptions& options) {
  std::vector<ToldSetting> texts;
  for (const ServeKey& key : serve_keys()) {
    const auto found = given.find(key.flag);
    if (found != given.end()) {
      texts.push_back(
          {key.section, key.key, shown(key, found->second.text), found->second.location});
      continue;
    }
    const std::string_view of_dev = options.dev ? dev_value(key.flag) : "";
    texts.push_back({key.section, key.key, std::string(of_dev.empty() ? key.preset : of_dev),
                     of_dev.empty() ? "default" : "default of --dev"});
  }
  CHECK(texts.size() == serve_keys().size(), "{} settings", texts.size());
  return texts;
}

bool reaches_others(const std::string& address) {
  return !is_loopback(parse_listen_address(address).value_or(ListenAddress{}).host);
}

std::expected<void, std::string> check_exposure(const ServerOptions& options,
                                                const GivenValues& given) {
  if (options.auth == "sigv4") return {};
  for (const auto& [flag, address] : message_listeners(options)) {
    if (!reaches_others(address)) continue;
    const std::string_view port = std::string_view(address).substr(address.rfind(':') + 1);
    return std::unexpected(fault_at(
        given, flag,
        fmt::format(
            "cannot bind {} without credentials: every machine that reaches it could read and "
            "purge every queue. Bind loopback with --{} 127.0.0.1:{}, require signatures with "
            "--auth sigv4 --keys FILE, or pass --insecure-no-auth to accept the risk.",
            address, flag, port)));
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

// SPDX-License-Identifier: Apache-2.0
#include "tools/config/environment.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "core/base/check.h"
#include "proto/text/suggest.h"
#include "tools/config/serve_keys.h"

namespace pawl {
namespace {

constexpr std::string_view prefix = "PAWL_";

std::vector<std::string> known_variables() {
  std::vector<std::string> known;
  for (const ServeKey& key : serve_keys()) known.push_back(variable_of(key));
  CHECK(std::ranges::all_of(known, [](const auto& name) { return name.starts_with(prefix); }),
        "a variable of a setting begins in another way");
  return known;
}

// The section whose variables begin as this one. Empty: none.
std::string section_of_variable(std::string_view name) {
  for (const std::string& section : serve_sections()) {
    std::string begin(prefix);
    for (const char c : section) begin += static_cast<char>(c - 'a' + 'A');
    if (name.starts_with(begin + '_')) return section;
  }
  return {};
}

// "tcp://10.0.0.1:9324".
bool is_service_address(std::string_view value) {
  return value.starts_with("tcp://") || value.starts_with("udp://") || value.starts_with("sctp://");
}

// The rest behind "_PORT_": a number, a protocol, and what of the two.
bool is_port_of_service(std::string_view rest) {
  const std::size_t digits = rest.find_first_not_of("0123456789");
  if (digits == 0 || digits == rest.npos) return false;
  constexpr std::array<std::string_view, 3> protocols = {"_TCP", "_UDP", "_SCTP"};
  constexpr std::array<std::string_view, 4> parts = {"", "_PROTO", "_PORT", "_ADDR"};
  rest.remove_prefix(digits);
  return std::ranges::any_of(protocols, [&](std::string_view protocol) {
    return rest.starts_with(protocol) &&
           std::ranges::find(parts, rest.substr(protocol.size())) != parts.end();
  });
}

}  // namespace

void read_environment(GivenValues& given) {
  for (const ServeKey& key : serve_keys()) {
    const std::string name = variable_of(key);
    if (const char* value = std::getenv(name.c_str()); value != nullptr && *value != 0)
      given.try_emplace(key.flag, value, name);
  }
}

bool is_of_kubernetes(std::string_view name, std::string_view value) {
  constexpr std::string_view named_port = "_SERVICE_PORT_", port = "_PORT_";
  if (name.ends_with("_SERVICE_HOST") || name.ends_with("_SERVICE_PORT")) return true;
  if (name.contains(named_port)) return true;
  if (name.ends_with("_PORT") && is_service_address(value)) return true;
  for (std::size_t at = name.find(port); at != name.npos; at = name.find(port, at + 1))
    if (is_port_of_service(name.substr(at + port.size()))) return true;
  return false;
}

UnknownVariables unknown_variables() {
  const std::vector<std::string> known = known_variables();
  UnknownVariables unknown;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t end = std::min(text.find('='), text.size());
    const std::string name(text.substr(0, end));
    if (!name.starts_with(prefix) || std::ranges::find(known, name) != known.end()) continue;
    if (is_of_kubernetes(name, text.substr(std::min(end + 1, text.size())))) continue;
    const std::string section = section_of_variable(name);
    const std::string meant = suggestion(name, known);
    if (!section.empty()) {
      unknown.refused.push_back(fmt::format(
          "the environment variable {} begins like a setting of [{}], but is none.{} Correct or "
          "unset it; `pawl serve --help` lists the variables.",
          name, section, meant));
    } else if (!meant.empty()) {
      unknown.near.push_back(fmt::format(
          "the environment variable {} is not a setting of pawl serve and has no effect.{}", name,
          meant));
    }
  }
  return unknown;
}

}  // namespace pawl

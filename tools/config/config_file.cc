// SPDX-License-Identifier: Apache-2.0
#include "tools/config/config_file.h"

#include <fmt/core.h>
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/format.h"
#include "proto/text/suggest.h"
#include "proto/text/text.h"
#include "tools/config/serve_keys.h"
#include "tools/declared_queues.h"
#include "tools/toml_text.h"

namespace pawl {
namespace {

using NoFile = std::unexpected<std::string>;

std::string with_hyphens(std::string text) {
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
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

// The nearest of these names, or else all.
std::string meant_or_allowed(std::string_view name, const std::vector<std::string>& known) {
  CHECK(!known.empty(), "nothing is allowed instead of {}", name);
  const std::string meant = suggestion(name, known);
  return meant.empty() ? " Allowed: " + join_texts(known, ", ") + "." : meant;
}

void read_section(const std::string& path, const std::string& section, const toml::table& table,
                  GivenValues& given, Faults& faults) {
  std::set<std::string> seen;
  for (const auto& [name, node] : table) {
    const std::string key = with_hyphens(std::string(name.str()));
    const ServeKey* const known = find_serve_key(section, key);
    const std::string location = location_of(path, name.source());
    if (known == nullptr) {
      std::string word(name.str());
      make_printable(word);
      faults.push_back(fmt::format("{}: [{}] has no key \"{}\".{}", location, section, word,
                                   meant_or_allowed(key, serve_keys_of(section))));
      continue;
    }
    if (!seen.insert(key).second) {
      faults.push_back(
          fmt::format("{}: {} of [{}] is given twice, with hyphens and with "
                      "underscores. Keep one of the two.",
                      location, key, section));
      continue;
    }
    const auto text = value_of(node, known->repeats);
    if (text) {
      given.try_emplace(known->flag, *text, location_of(path, node.source()));
      continue;
    }
    faults.push_back(fmt::format(
        "{}: {} must be {}. Expected {}: {} (default: {}).", location_of(path, node.source()), key,
        known->repeats ? "a string or an array of strings" : "a string or a whole number",
        known->value, known->help, known->preset));
  }
}

// Line and column of a fault of this file; 0 of another one.
std::pair<std::uint64_t, std::uint64_t> place_of(std::string_view fault, std::string_view path) {
  std::pair<std::uint64_t, std::uint64_t> place{};
  if (!fault.starts_with(path) || !fault.substr(path.size()).starts_with(':')) return place;
  const char* const end = fault.data() + fault.size();
  const auto line = std::from_chars(fault.data() + path.size() + 1, end, place.first);
  if (line.ec != std::errc() || line.ptr == end || *line.ptr != ':') return {};
  std::from_chars(line.ptr + 1, end, place.second);
  return place;
}

}  // namespace

std::expected<std::string, std::string> read_config_file(const std::string& path) {
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown))
    return NoFile(fmt::format("{}: is a directory. Name a TOML file.", path));
  std::ifstream file(path);
  if (!file) return NoFile(fmt::format("{}: cannot be read. Name a TOML file that exists.", path));
  std::stringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

Faults read_config(std::string_view text, const std::string& path, GivenValues& given) {
  const auto parsed = parse_toml(text, path);
  if (!parsed) return {parsed.error()};
  Faults faults;
  const std::vector<std::string> sections = serve_sections();
  for (const auto& [name, node] : *parsed) {
    std::string section(name.str());
    if (std::ranges::find(declared_tables(), section) != declared_tables().end()) continue;
    const std::string location = location_of(path, name.source());
    if (std::ranges::find(sections, section) == sections.end()) {
      std::vector<std::string> known = sections;
      for (const std::string_view table : declared_tables()) known.emplace_back(table);
      make_printable(section);
      faults.push_back(fmt::format("{}: there is no section [{}].{}", location, section,
                                   meant_or_allowed(section, known)));
    } else if (!node.is_table()) {
      faults.push_back(fmt::format("{}: {} is a section: write [{}] and its keys below it.",
                                   location, section, section));
    } else {
      read_section(path, section, *node.as_table(), given, faults);
    }
  }
  sort_by_place(faults, path);
  return faults;
}

void sort_by_place(Faults& faults, const std::string& path) {
  std::ranges::stable_sort(faults, {}, [&](const std::string& one) { return place_of(one, path); });
  const auto twins = std::ranges::unique(faults);
  faults.erase(twins.begin(), twins.end());
}

}  // namespace pawl

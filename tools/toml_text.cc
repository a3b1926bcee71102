// SPDX-License-Identifier: Apache-2.0
#include "tools/toml_text.h"

#include <fmt/core.h>
#include <toml++/toml.h>

namespace pawl {

std::string location_of(const std::string& path, const toml::source_region& where) {
  return fmt::format("{}:{}:{}", path, where.begin.line, where.begin.column);
}

namespace {

// A value that is a text without quotes is the most frequent mistake.
std::string_view remedy_of(std::string_view description) {
  const bool about_a_value = description.contains("integer") || description.contains("value");
  return about_a_value ? R"( Text needs quotes, as in memory = "1GiB".)" : "";
}

}  // namespace

std::expected<toml::table, std::string> parse_toml(std::string_view text, const std::string& path) {
  try {
    return toml::parse(text, std::string_view(path));
  } catch (const toml::parse_error& error) {
    return std::unexpected(fmt::format("{}: {}.{}", location_of(path, error.source()),
                                       error.description(), remedy_of(error.description())));
  }
}

}  // namespace pawl

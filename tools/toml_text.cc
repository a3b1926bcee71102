// SPDX-License-Identifier: Apache-2.0
#include "tools/toml_text.h"

#include <fmt/core.h>
#include <toml++/toml.h>

namespace pawl {

std::string location_of(const std::string& path, const toml::source_region& where) {
  return fmt::format("{}:{}:{}", path, where.begin.line, where.begin.column);
}

std::expected<toml::table, std::string> parse_toml(std::string_view text, const std::string& path) {
  try {
    return toml::parse(text, std::string_view(path));
  } catch (const toml::parse_error& error) {
    return std::unexpected(
        fmt::format("{}: {}.", location_of(path, error.source()), error.description()));
  }
}

}  // namespace pawl

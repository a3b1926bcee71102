// SPDX-License-Identifier: Apache-2.0
#include "tools/verbs/name_value.h"

#include <fmt/core.h>

#include <ranges>

#include "core/base/check.h"

namespace pawl {

std::vector<NameValue> names_and_values(std::string_view lines) {
  std::vector<NameValue> pairs;
  if (lines.empty()) return pairs;
  for (const auto range : std::views::split(lines, '\n')) {
    const std::string_view line(range.begin(), range.end());
    const std::size_t equals = line.find('=');
    CHECK(equals != line.npos && equals > 0, "the check refuses \"{}\"", line);
    pairs.push_back({line.substr(0, equals), line.substr(equals + 1)});
  }
  return pairs;
}

std::string check_names_and_values(const std::string& lines) {
  for (const auto range : std::views::split(lines, '\n')) {
    const std::string_view line(range.begin(), range.end());
    const std::size_t equals = line.find('=');
    if (equals == line.npos || equals == 0)
      return fmt::format("\"{}\" is not of the form NAME=VALUE.", line);
  }
  return {};
}

}  // namespace pawl

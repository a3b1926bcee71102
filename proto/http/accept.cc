// SPDX-License-Identifier: Apache-2.0
#include "proto/http/accept.h"

#include <algorithm>
#include <optional>

#include "core/base/check.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

constexpr int weight_max = 1000;

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

// Cuts the text before the next separator off, and returns it without blanks.
std::string_view cut_part(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = without_blanks(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

// A weight in thousandths: 1, or 0 with up to three digits behind the point.
std::optional<int> weight_of(std::string_view text) {
  if (text.empty() || (text[0] != '0' && text[0] != '1') || text.size() > 5) return std::nullopt;
  if (text.size() > 1 && text[1] != '.') return std::nullopt;
  int weight = text[0] == '1' ? weight_max : 0;
  int unit = weight_max;
  for (const char c : text.substr(std::min<std::size_t>(2, text.size()))) {
    if (c < '0' || c > '9') return std::nullopt;
    unit /= 10;
    weight += (c - '0') * unit;
  }
  CHECK(unit >= 1, "the weight {} has more than three digits", text);
  return weight <= weight_max ? std::optional(weight) : std::nullopt;
}

// The largest weight that the header gives to the name, 0 if it is absent. Entries with another
// value of the parameter `version` are ignored; no version: that parameter is ignored.
int weight_in(std::string_view header, std::string_view name, std::string_view version = {}) {
  int largest = 0;
  while (!header.empty()) {
    std::string_view entry = cut_part(header, ',');
    if (!equals_ignoring_case(cut_part(entry, ';'), name)) continue;
    std::optional<int> weight = weight_max;
    while (!entry.empty()) {
      const std::string_view parameter = cut_part(entry, ';');
      if (starts_with_ignoring_case(parameter, "q=")) {
        weight = weight_of(parameter.substr(2));
        break;
      }
      if (version.empty() || !starts_with_ignoring_case(parameter, "version=")) continue;
      if (parameter.substr(8) != version) weight = std::nullopt;
      if (!weight) break;
    }
    largest = std::max(largest, weight.value_or(0));
  }
  return largest;
}

}  // namespace

bool accepts_json(std::string_view accept) {
  while (!accept.empty()) {
    std::string_view entry = cut_part(accept, ',');
    const std::string_view type = cut_part(entry, ';');
    if (equals_ignoring_case(type, "application/json")) return true;
    if (equals_ignoring_case(type, "text/xml") || equals_ignoring_case(type, "application/xml"))
      return false;
  }
  return false;
}

bool accepts_open_metrics(std::string_view accept) {
  const int weight = weight_in(accept, "application/openmetrics-text", "1.0.0");
  return weight > 0 && weight >= weight_in(accept, "text/plain");
}

bool accepts_gzip(std::string_view accept_encoding) {
  const int weight = weight_in(accept_encoding, "gzip");
  return weight > 0 && weight >= weight_in(accept_encoding, "identity");
}

}  // namespace pawl

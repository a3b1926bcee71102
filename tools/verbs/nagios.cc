// SPDX-License-Identifier: Apache-2.0
#include "tools/verbs/nagios.h"

#include <fmt/core.h>

#include <iterator>

#include "core/base/check.h"
#include "proto/text/text.h"

namespace pawl {

int print_nagios(NagiosLevel level, std::string text, std::string_view figures) {
  constexpr std::string_view words[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};
  const auto code = static_cast<std::size_t>(level);
  CHECK(code < std::size(words), "level {}", code);
  CHECK(!text.empty(), "a line of level {} says nothing", words[code]);
  make_printable(text);
  for (char& c : text) {
    if (c == '|') c = '/';  // figures follow a bar
    if (c == '\n' || c == '\t' || c == '\r') c = ' ';
  }
  fmt::print("PAWL {} - {}{}{}\n", words[code], text, figures.empty() ? "" : " | ", figures);
  return static_cast<int>(code);
}

}  // namespace pawl

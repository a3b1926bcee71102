// SPDX-License-Identifier: Apache-2.0
#include "core/base/format.h"

#include <array>
#include <charconv>

namespace pawl {

void FormatArgument::append_to(std::string& out) const {
  if (kind_ == Kind::text) {
    out += text_;
    return;
  }
  std::array<char, 32> digits;  // a double has up to 24
  char* const first = digits.data();
  char* const last = first + digits.size();
  const char* const end =
      kind_ == Kind::real ? std::to_chars(first, last, real_).ptr
                          : std::to_chars(first, last, number_, kind_ == Kind::hex ? 16 : 10).ptr;
  const auto count = static_cast<std::size_t>(end - first);
  if (kind_ == Kind::negative) out += '-';
  if (count < digits_) out.append(digits_ - count, '0');
  out.append(first, count);
}

void append_format(std::string& out, std::string_view format,
                   std::initializer_list<FormatArgument> arguments) {
  for (const FormatArgument& argument : arguments) {
    const std::size_t brace = format.find("{}");
    out += format.substr(0, brace);
    argument.append_to(out);
    format.remove_prefix(brace == format.npos ? format.size() : brace + 2);
  }
  out += format;
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Texts with values in the place of `{}`: the part of std::format that messages of assertions and
// of the client library need. libstdc++ 12 has no std::format, and the client library may not
// depend on fmt. Other code includes <fmt/core.h>; <fmt/format.h> compiles fmt's formatters into
// each object, for seconds and kilobytes.
//
// Errors: a format whose `{}` are not as many as the values does not compile.
// Owner:  values; a FormatArgument refers to the text that it was made from.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

namespace pawl {

// A number in hexadecimal, with leading zeros up to `digits` digits.
struct Hex {
  std::uint64_t value = 0;
  unsigned digits = 1;
};

// A value to insert: an integer, a double, a bool, a text or a Hex.
class FormatArgument {
 public:
  template <std::integral T>
  FormatArgument(T value)
      : kind_(value < T{} ? Kind::negative : Kind::decimal),
        number_(value < T{} ? std::uint64_t{0} - static_cast<std::uint64_t>(value)
                            : static_cast<std::uint64_t>(value)) {}
  FormatArgument(double value) : kind_(Kind::real), real_(value) {}
  FormatArgument(bool value) : text_(value ? "true" : "false") {}
  FormatArgument(char) = delete;  // a letter or a number: the caller decides
  FormatArgument(const char* text) : text_(text) {}
  FormatArgument(const std::string& text) : text_(text) {}
  FormatArgument(std::string_view text) : text_(text) {}
  FormatArgument(Hex hex) : kind_(Kind::hex), number_(hex.value), digits_(hex.digits) {}

  void append_to(std::string& out) const;

 private:
  enum class Kind : std::uint8_t { text, decimal, negative, hex, real };

  Kind kind_ = Kind::text;
  std::uint64_t number_ = 0;  // of a negative number: its absolute value
  double real_ = 0;
  unsigned digits_ = 1;
  std::string_view text_;
};

// A literal with one `{}` for each of Args; it has no other braces.
template <typename... Args>
class FormatText {
 public:
  consteval FormatText(const char* text) : text_(text) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < text_.size(); ++i) {
      if (text_[i] != '{') continue;
      if (i + 1 == text_.size() || text_[i + 1] != '}') throw "a brace that is not {}";
      ++count;
    }
    if (count != sizeof...(Args)) throw "other numbers of {} and of values";
  }
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

void append_format(std::string& out, std::string_view format,
                   std::initializer_list<FormatArgument> arguments);

template <typename... Args>
std::string format_text(FormatText<std::type_identity_t<Args>...> format, const Args&... args) {
  std::string out;
  append_format(out, format.text(), {FormatArgument(args)...});
  return out;
}

// The texts of a range, with `separator` between them.
template <typename Texts>
std::string join_texts(const Texts& texts, std::string_view separator) {
  std::string out;
  bool first = true;
  for (const auto& text : texts) {
    if (!first) out += separator;
    first = false;
    out += text;
  }
  return out;
}

}  // namespace pawl

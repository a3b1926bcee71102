// SPDX-License-Identifier: Apache-2.0
#include "proto/aws/tags.h"

#include <algorithm>

#include "proto/text/text.h"

namespace pawl {
namespace {

using F = SqsFault;

constexpr std::size_t tag_key_max = 128;
constexpr std::size_t tag_value_max = 256;

// Allowed: letters and digits, all characters beyond ASCII, white space and _ . : / = + - @
bool good_characters(std::string_view text) {
  static constexpr std::string_view others = " \t\n\r_.:/=+-@";
  return check_text(text) == TextFault::none && std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  static_cast<unsigned char>(c) >= 0x80 || others.contains(c);
         });
}

bool refuse_key_length(Refusal& refusal) {
  return refusal.because(F::invalid_parameter_value,
                         "Tag keys must be between 1 and 128 characters in length.");
}

}  // namespace

bool check_tag(std::string_view key, std::string_view value, Refusal& refusal) {
  if (key.empty() || count_characters(key) > tag_key_max) {
    return refuse_key_length(refusal);
  }
  if (count_characters(value) > tag_value_max) {
    return refusal.because(F::invalid_parameter_value,
                           "Tag values must be between 0 and 256 characters in length.");
  }
  if (!good_characters(key) || !good_characters(value)) {
    return refusal.because(F::invalid_parameter_value,
                           "Tag keys and values can only include letters, digits, white space and "
                           "the characters _ . : / = + - @");
  }
  return !key.starts_with("aws:") ||
         refusal.because(F::invalid_parameter_value, "Tag keys cannot begin with aws:");
}

void put_tag(Tags& tags, std::string_view key, std::string_view value) {
  const auto it = std::ranges::lower_bound(tags, key, {}, &Tags::value_type::first);
  if (it != tags.end() && it->first == key) {
    it->second = value;
  } else {
    tags.emplace(it, key, value);
  }
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Suggestions for mistyped words: verbs, flags, configuration keys, attributes.
//
// Limits: none is made for a word of over 64 characters.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace pawl {

// The candidate closest to `word`, or empty if none is close. A swap of two neighbouring letters
// counts as one mistake, and so does a candidate that begins with `word` (two letters or more).
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

// ` Did you mean "x"?`, or an empty text.
std::string suggestion(std::string_view word, std::span<const std::string> candidates);

}  // namespace pawl

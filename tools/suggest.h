// Suggestions for mistyped words: verbs, flags, configuration keys.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace pawl {

// The candidate closest to `word`, or empty when none is close enough to be meant. A swap of two
// neighbouring letters counts as one mistake; a candidate of which the word is the beginning is close.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

// ` Did you mean "x"?`, or nothing.
std::string suggestion(std::string_view word, std::span<const std::string> candidates);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/text/suggest.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/base/check.h"

namespace pawl {
namespace {

constexpr std::size_t suggested_word_max = 64;

// The number of insertions, deletions, substitutions and swaps of neighbours between two words
// (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  CHECK(a.size() <= suggested_word_max, "a word of {} characters", a.size());
  std::vector<std::vector<std::size_t>> at(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) at[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) at[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      at[i][j] = std::min(
          {at[i - 1][j] + 1, at[i][j - 1] + 1, at[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        at[i][j] = std::min(at[i][j], at[i - 2][j - 2] + 1);
    }
  return at[a.size()][b.size()];
}

}  // namespace

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  if (word.size() > suggested_word_max) return {};
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    std::size_t d = edit_distance(word, candidate);
    if (word.size() >= 2 && std::string_view(candidate).starts_with(word)) d = 1;
    if (d >= best_distance) continue;
    best = candidate;
    best_distance = d;
  }
  return std::string(best);
}

std::string suggestion(std::string_view word, std::span<const std::string> candidates) {
  const std::string meant = did_you_mean(word, candidates);
  return meant.empty() ? "" : fmt::format(" Did you mean \"{}\"?", meant);
}

}  // namespace pawl

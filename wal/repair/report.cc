// SPDX-License-Identifier: Apache-2.0
#include "wal/repair/report.h"

#include <fmt/core.h>

#include <vector>

#include "core/base/format.h"

namespace pawl {

std::string numbers(const std::set<Seq>& seqs) {
  std::vector<std::string> runs;
  for (auto it = seqs.begin(); it != seqs.end();) {
    const Seq first = *it;
    Seq last = first;
    for (++it; it != seqs.end() && *it == last + 1; ++it) last = *it;
    runs.push_back(first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last));
  }
  return join_texts(runs, ", ");
}

std::string describe_guess(const Guess& guess) {
  std::vector<std::string> parts;
  for (const auto& [type, count] : guess.records) {
    std::vector<std::string> which(guess.settings.begin(), guess.settings.end());
    if (type != "settings") which.clear();
    if (const auto messages = guess.messages.find(type); messages != guess.messages.end()) {
      for (const auto& [queue, seqs] : messages->second)
        which.push_back(fmt::format("queue {}: {}", raw(queue), numbers(seqs)));
    }
    parts.push_back(
        fmt::format("{} {}{}", count, type,
                    which.empty() ? "" : fmt::format(" ({})", join_texts(which, "; "))));
  }
  if (guess.unrecognized_bytes > 0)
    parts.push_back(fmt::format("{} unrecognized bytes", guess.unrecognized_bytes));
  return join_texts(parts, ", ");
}

}  // namespace pawl

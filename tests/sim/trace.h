// SPDX-License-Identifier: Apache-2.0
// Trace: a hash of all events of a simulated run, their text on request, and the first broken
// invariant.
//
// Two runs of one seed have the same hash, or something in them depends on more than the seed.
//
// Owner: one simulation.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/base/time.h"
#include "tests/sim/random.h"

namespace pawl::sim {

class Trace {
 public:
  explicit Trace(bool print) : print_(print) {}

  template <typename... Args>
  void note(fmt::format_string<Args...> text, Args&&... args) {
    (mix_in(args), ...);
    hash_ = mix(hash_ + fmt::string_view(text).size());
    ++events_;
    if (print_) fmt::print("{}\n", fmt::format(text, std::forward<Args>(args)...));
  }
  std::uint64_t hash() const { return hash_; }
  std::uint64_t events() const { return events_; }

  // Reports a broken invariant. Only the first one counts: later ones may be its consequences.
  template <typename... Args>
  void broken(std::string_view invariant, fmt::format_string<Args...> text, Args&&... args) {
    if (!ok() || lenient_) return;
    invariant_ = invariant;
    what_ = fmt::format(text, std::forward<Args>(args)...);
    note("BROKEN {}: {}", invariant_, what_);
  }
  // While lenient, broken invariants do not count: the broker is about to die for a known reason.
  void be_lenient(bool lenient) { lenient_ = lenient; }
  bool lenient() const { return lenient_; }
  bool ok() const { return invariant_.empty(); }
  const std::string& invariant() const { return invariant_; }
  const std::string& what() const { return what_; }

 private:
  // One multiplication per value: a run notes more than a hundred thousand turns. note() ends with
  // a full mix().
  void mix_in_word(std::uint64_t word) {
    hash_ = (std::rotl(hash_, 29) ^ word) * 0x9fb21c651e98df25;
  }
  template <typename T>
  void mix_in(const T& value) {
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      mix_in_word(static_cast<std::uint64_t>(value));
    } else {
      const std::string_view text(value);
      for (std::size_t at = 0; at < text.size(); at += sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        std::memcpy(&word, text.data() + at, std::min(text.size() - at, sizeof word));
        mix_in_word(word);
      }
      mix_in_word(text.size());
    }
  }

  bool print_;
  bool lenient_ = false;
  std::uint64_t hash_ = 0;
  std::uint64_t events_ = 0;
  std::string invariant_;
  std::string what_;
};

}  // namespace pawl::sim

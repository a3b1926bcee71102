// What happened in a simulated run: a hash of every event, their text when it is asked for, and the first
// invariant that was broken.
//
// Two runs of one seed have the same hash, or something in them depends on more than the seed.
//
// Owner: one simulation.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/time.h"
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

  // The first broken invariant is the one that counts: what follows may only be its consequence.
  template <typename... Args>
  void broken(std::string_view invariant, fmt::format_string<Args...> text, Args&&... args) {
    if (!ok()) return;
    invariant_ = invariant;
    what_ = fmt::format(text, std::forward<Args>(args)...);
    note("BROKEN {}: {}", invariant_, what_);
  }
  bool ok() const { return invariant_.empty(); }
  const std::string& invariant() const { return invariant_; }
  const std::string& what() const { return what_; }

 private:
  template <typename T>
  void mix_in(const T& value) {
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      hash_ = mix(hash_ ^ static_cast<std::uint64_t>(value));
    } else {
      for (const char c : std::string_view(value))
        hash_ = mix(hash_ ^ static_cast<unsigned char>(c));
    }
  }

  bool print_;
  std::uint64_t hash_ = 0;
  std::uint64_t events_ = 0;
  std::string invariant_;
  std::string what_;
};

}  // namespace pawl::sim

// SPDX-License-Identifier: Apache-2.0
// Part: one part of pawl_exhaustive, with its settings, counters and output.
//
// Owner:  main(); the settings are only read.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace pawl::exhaustive {

struct Settings {
  std::uint64_t limit = UINT64_MAX;  // most states of a part
  std::uint64_t seeds = UINT64_MAX;  // crash: most seeds of disk delays
  // A single state, named as in the report of a failure.
  std::string story;
  std::uint64_t seed = 0, point = 0;
  std::string state;
  bool one() const { return !state.empty(); }
  // Stride of bits, disk and memory; first bit of bits. walk: `pawl wal verify` runs too.
  std::uint64_t stride = 1, first = 0;
  bool walk = true;
};

class Part {
 public:
  static constexpr std::uint64_t failures_max = 20;  // after this number a part stops

  Part(std::string_view name, const Settings& settings) : name_(name), settings_(settings) {}

  // Records the state under test, for a CHECK that ends the process; `again`: flags that repeat it.
  void looking_at(const std::string& again);
  void fail(const std::string& again, const std::string& what);
  void count(std::uint64_t states = 1) { states_ += states; }
  bool full() const { return states_ >= settings_.limit || failures_ >= failures_max; }
  std::uint64_t failures() const { return failures_; }
  std::uint64_t states() const { return states_; }
  const Settings& settings() const { return settings_; }
  std::string detail;  // printed after the figures

  // Prints the result line.
  void end(bool json) const;

 private:
  std::string_view name_;
  const Settings& settings_;
  std::uint64_t states_ = 0, failures_ = 0;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

// Makes a CHECK of the broker print the state under test.
void install_last_words();

void run_crash(Part& part);
void run_bits(Part& part);
void run_disk(Part& part);
void run_memory(Part& part);

}  // namespace pawl::exhaustive

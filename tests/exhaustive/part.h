// Parts: what pawl_exhaustive is made of, and what each of them says.
//
// Owner:  main(); the settings are read alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace pawl::exhaustive {

struct Settings {
  std::uint64_t limit = UINT64_MAX;  // states of a part, no more
  std::uint64_t seeds = UINT64_MAX;  // crash: of disks' delays, no more
  // One state alone, as a failure names it.
  std::string story;
  std::uint64_t seed = 0, point = 0;
  std::string state;
  bool one() const { return !state.empty(); }
  // bits: every so many-th, beginning with this one; walk: whether `pawl wal verify` looks too
  std::uint64_t stride = 1, first = 0;
  bool walk = true;
};

class Part {
 public:
  static constexpr std::uint64_t failures_max = 20;  // then a part gives up

  Part(std::string_view name, const Settings& settings) : name_(name), settings_(settings) {}

  // What is being looked at, for a CHECK that ends the process; `again` is what to pass.
  void looking_at(const std::string& again);
  void fail(const std::string& again, const std::string& what);
  void count(std::uint64_t states = 1) { states_ += states; }
  bool full() const { return states_ >= settings_.limit || failures_ >= failures_max; }
  std::uint64_t failures() const { return failures_; }
  std::uint64_t states() const { return states_; }
  const Settings& settings() const { return settings_; }
  std::string detail;  // said behind the figures

  // Prints its line.
  void end(bool json) const;

 private:
  std::string_view name_;
  const Settings& settings_;
  std::uint64_t states_ = 0, failures_ = 0;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

// A CHECK of the broker says what was being looked at.
void install_last_words();

void run_crash(Part& part);
void run_bits(Part& part);
void run_disk(Part& part);
void run_memory(Part& part);

}  // namespace pawl::exhaustive

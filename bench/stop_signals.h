// SPDX-License-Identifier: Apache-2.0
// StopSignals: SIGINT and SIGTERM end a load early, during the lifetime of this object.
//
//   waiting --first signal--> requested --second signal--> the process ends by that signal
//
// The first signal writes a notice and makes `descriptor` readable for good, so that each thread
// can wait for it in its own epoll. A signal that was ignored before stays ignored, as SIGINT is in
// background jobs of a shell.
//
// Limits: one object at a time.
// Errors: none. Without a descriptor (-1) a sleeping thread notices the request late.
// Owner:  run_load_at(), bench/load.h.
#pragma once

#include <signal.h>

#include <array>
#include <cstdio>

namespace pawl::load {

class StopSignals {
 public:
  // The notice goes to `err`, past its buffer.
  explicit StopSignals(std::FILE* err);
  ~StopSignals();  // restores the former handlers
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  bool requested() const;
  int descriptor() const { return descriptor_; }

  static constexpr std::array signals = {SIGINT, SIGTERM};

 private:
  static void on_signal(int number);

  int descriptor_;
  std::array<struct sigaction, signals.size()> former_{};
};

}  // namespace pawl::load

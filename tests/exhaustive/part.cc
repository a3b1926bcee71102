// SPDX-License-Identifier: Apache-2.0
#include "tests/exhaustive/part.h"

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace pawl::exhaustive {
namespace {

char last_words[300];

void on_abort(int) {
  const std::size_t length = std::strlen(last_words);
  if (::write(STDERR_FILENO, last_words, length) < 0) std::_Exit(3);
  std::_Exit(2);
}

}  // namespace

void install_last_words() { signal(SIGABRT, on_abort); }

void Part::looking_at(const std::string& again) {
  std::snprintf(last_words, sizeof last_words, "looked at: --only %.*s %s\n",
                static_cast<int>(name_.size()), name_.data(), again.c_str());
}

void Part::fail(const std::string& again, const std::string& what) {
  ++failures_;
  fmt::print("{}: {}\n  again: pawl_exhaustive --only {} {}\n", name_, what, name_, again);
  std::fflush(stdout);
}

void Part::end(bool json) const {
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
  if (json) {
    fmt::print("{{\"name\": \"{}\", \"states\": {}, \"failures\": {}, \"seconds\": {:.1f}}}\n",
               name_, states_, failures_, seconds);
  } else {
    fmt::print("{}: {} states, {} failures, {:.1f} s, {:.0f} states/s{}{}\n", name_, states_,
               failures_, seconds, static_cast<double>(states_) / seconds,
               detail.empty() ? "" : "; ", detail);
  }
  std::fflush(stdout);
}

}  // namespace pawl::exhaustive

// SPDX-License-Identifier: Apache-2.0
// Terminal: a screen that is drawn again and again, and the keys that are typed meanwhile.
//
//   plain --Terminal()--> other screen, keys without echo --end--> plain, as before
//
// SIGINT and SIGTERM end a wait, so that the terminal is restored; ended_by() tells.
//
// Units:  characters.
// Limits: one Terminal at a time.
// Errors: a closed standard input ends it as SIGHUP does.
// Owner:  one thread.
#pragma once

#include <termios.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace pawl {

class Terminal {
 public:
  static bool is_possible();  // standard input and output are a terminal

  Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  std::size_t columns() const;  // at least 20
  std::size_t lines() const;    // at least 5
  // Draws the lines from the top; those that do not fit are left out.
  void draw(const std::vector<std::string>& screen);
  // The next key; 0: none was typed in time, or the size has changed.
  char key(std::chrono::milliseconds wait);
  int ended_by() const;  // number of a signal, or 0

 private:
  termios before_{};
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// A pipe that a test reads or leaves full.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <string>

namespace pawl {

struct Pipe {
  Pipe() { opened = ::pipe2(ends.data(), O_CLOEXEC) == 0; }
  ~Pipe() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  int out() const { return ends[1]; }

  void shrink() const { ::fcntl(out(), F_SETPIPE_SZ, 4096); }
  // Leaves no free byte; the writing end blocks as before.
  void fill() const {
    const int flags = ::fcntl(out(), F_GETFL);
    ::fcntl(out(), F_SETFL, flags | O_NONBLOCK);
    while (::write(out(), "x", 1) == 1) {
    }
    ::fcntl(out(), F_SETFL, flags);
  }
  // All bytes that are in the pipe now.
  std::string read() const {
    const int flags = ::fcntl(ends[0], F_GETFL);
    ::fcntl(ends[0], F_SETFL, flags | O_NONBLOCK);
    std::string all;
    char part[4096];
    for (ssize_t n = 0; (n = ::read(ends[0], part, sizeof part)) > 0;)
      all.append(part, static_cast<std::size_t>(n));
    ::fcntl(ends[0], F_SETFL, flags);
    return all;
  }

  std::array<int, 2> ends{-1, -1};
  bool opened = false;
};

}  // namespace pawl

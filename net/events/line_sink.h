// SPDX-License-Identifier: Apache-2.0
// LineSink: writes lines to a descriptor that may be a full pipe, closed or non-blocking.
//
// It waits until the descriptor takes bytes, but not beyond a deadline that another thread may
// move. Blocking descriptors stay as they are, because other processes share them: a write of at
// most PIPE_BUF bytes to a writable pipe does not block.
//
// Units:  deadlines are us of steady_us().
// Errors: false: the line is lost, wholly or in part. After a part the next line begins on its own.
// Owner:  one thread at a time. The descriptor belongs to the caller.
// Source: pipe(7), "PIPE_BUF".
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace pawl {

std::int64_t steady_us();

class LineSink {
 public:
  explicit LineSink(int fd) : fd_(fd) {}

  // `line` ends with a line break.
  bool write(std::string_view line, const std::atomic<std::int64_t>& deadline_us);

 private:
  bool write_bytes(std::string_view bytes, const std::atomic<std::int64_t>& deadline_us);
  bool wait_writable(const std::atomic<std::int64_t>& deadline_us) const;

  int fd_;
  bool cut_ = false;  // the last line was written in part
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/events/line_sink.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <string>

#include "core/base/check.h"

namespace pawl {
namespace {

constexpr int look_ms = 20;  // between two looks at the deadline

}  // namespace

std::int64_t steady_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool LineSink::write(std::string_view line, const std::atomic<std::int64_t>& deadline_us) {
  CHECK(line.ends_with('\n'), "a line without its end");
  if (cut_) return write_bytes("\n" + std::string(line), deadline_us);
  return write_bytes(line, deadline_us);
}

bool LineSink::write_bytes(std::string_view bytes, const std::atomic<std::int64_t>& deadline_us) {
  std::string_view left = bytes;
  while (!left.empty()) {
    if (!wait_writable(deadline_us)) break;
    const ssize_t n = ::write(fd_, left.data(), std::min<std::size_t>(left.size(), PIPE_BUF));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN && steady_us() < deadline_us.load(std::memory_order_acquire)) {
      ::poll(nullptr, 0, look_ms);  // a socket may be writable, but not for so many bytes
      continue;
    }
    if (n < 0) break;
    CHECK(static_cast<std::size_t>(n) <= left.size(), "wrote {} of {} bytes", n, left.size());
    left.remove_prefix(static_cast<std::size_t>(n));
  }
  if (left.size() < bytes.size()) cut_ = !left.empty();
  return left.empty();
}

bool LineSink::wait_writable(const std::atomic<std::int64_t>& deadline_us) const {
  for (;;) {
    const bool late = steady_us() >= deadline_us.load(std::memory_order_acquire);
    pollfd out{.fd = fd_, .events = POLLOUT, .revents = 0};
    const int ready = ::poll(&out, 1, late ? 0 : look_ms);
    if (ready < 0 && errno != EINTR) return false;
    if (ready > 0) return (out.revents & (POLLNVAL | POLLERR)) == 0;
    if (late) return false;
  }
}

}  // namespace pawl

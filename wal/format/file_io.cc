// SPDX-License-Identifier: Apache-2.0
#include "wal/format/file_io.h"

#include <unistd.h>

#include <cerrno>

#include "core/base/check.h"
#include "wal/format/disk.h"

namespace pawl {

Result<std::size_t> read_file(int fd, std::uint64_t offset, std::span<std::byte> into) {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t n =
        pread(fd, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(Errc::io, "read", errno);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
    CHECK(done <= into.size(), "{} of {} bytes", done, into.size());
  }
  return done;
}

Result<void> write_file(int fd, std::uint64_t offset, std::span<const std::byte> from) {
  std::size_t done = 0;
  while (done < from.size()) {
    const ssize_t n =
        pwrite(fd, from.data() + done, from.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail_for_space("write", n == 0 ? EIO : errno);
    done += static_cast<std::size_t>(n);
    CHECK(done <= from.size(), "{} of {} bytes", done, from.size());
  }
  return {};
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/io/process_usage.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <ctime>
#include <string_view>

#include "core/base/check.h"

namespace pawl {
namespace {

std::uint64_t us_of(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 +
         static_cast<std::uint64_t>(time.tv_usec);
}

// The second number of /proc/self/statm, in pages.
std::uint64_t resident_pages(int fd) {
  char text[128];
  const ssize_t length = ::pread(fd, text, sizeof text, 0);
  if (length <= 0) return 0;
  const std::string_view all(text, static_cast<std::size_t>(length));
  const std::size_t space = all.find(' ');
  if (space == all.npos) return 0;
  std::uint64_t pages = 0;
  std::from_chars(all.data() + space + 1, all.data() + all.size(), pages);
  return pages;
}

// Entries of a list of files of /proc, without `.` and `..` and the descriptor of the list.
std::uint64_t count_entries(int fd) {
  if (fd < 0 || ::lseek(fd, 0, SEEK_SET) != 0) return 0;
  std::uint64_t found = 0;
  alignas(dirent64) char buffer[4096];
  for (;;) {
    const long bytes = ::syscall(SYS_getdents64, fd, buffer, sizeof buffer);
    if (bytes <= 0) break;
    for (long at = 0; at < bytes;) {
      const auto* const entry = reinterpret_cast<const dirent64*>(buffer + at);
      CHECK(entry->d_reclen > 0, "an entry of no bytes");
      found += entry->d_name[0] == '.' ? 0 : 1;
      at += entry->d_reclen;
    }
  }
  return found;
}

}  // namespace

ProcessUsage::ProcessUsage()
    : memory_fd_(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC)),
      files_fd_(::open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
      started_s_(::time(nullptr)) {}

ProcessUsage::~ProcessUsage() {
  if (memory_fd_ >= 0) ::close(memory_fd_);
  if (files_fd_ >= 0) ::close(files_fd_);
}

ProcessUsage::Numbers ProcessUsage::read() const {
  Numbers numbers{.started_s = started_s_};
  rusage used{};
  if (::getrusage(RUSAGE_SELF, &used) == 0)
    numbers.cpu_us = us_of(used.ru_utime) + us_of(used.ru_stime);
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) numbers.open_files_max = files.rlim_cur;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  numbers.resident_bytes = resident_pages(memory_fd_) * page;
  CHECK(page >= 4096, "pages of {} bytes", page);
  const std::scoped_lock alone(mutex_);
  numbers.open_files = count_entries(files_fd_);
  return numbers;
}

DiskSpace disk_space(int fd) {
  struct statvfs about{};
  if (::fstatvfs(fd, &about) != 0) return {};
  return {.free_bytes = about.f_bavail * about.f_frsize,
          .size_bytes = about.f_blocks * about.f_frsize};
}

}  // namespace pawl

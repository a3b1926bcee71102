// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/scratch_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "wal/format/disk.h"

namespace pawl {
namespace {

namespace fs = std::filesystem;

// Returns a descriptor that holds the lock; -1: another process has it, or it is not ours.
int lock_directory(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return -1;
  struct stat about{};
  if (fstat(fd, &about) == 0 && about.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0)
    return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

void delete_with_files(const std::string& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

void delete_stale(const std::string& parent) {
  std::error_code error;
  for (fs::directory_iterator at(parent, error), end; !error && at != end; at.increment(error)) {
    const std::string path = at->path();
    if (!at->path().filename().string().starts_with(ScratchDirectory::prefix)) continue;
    const int lock = lock_directory(path);
    if (lock < 0) continue;
    delete_with_files(path);
    close(lock);
  }
}

}  // namespace

Result<ScratchDirectory> ScratchDirectory::make(const std::string& parent) {
  delete_stale(parent);
  std::string path = parent + "/" + std::string(prefix) + "XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return fail_for_space("make a directory", errno);
  const int lock = lock_directory(path);
  if (lock < 0) {
    const int error = errno;
    delete_with_files(path);
    return fail(Errc::io, "lock a directory", error);
  }
  return ScratchDirectory(std::move(path), lock);
}

ScratchDirectory::ScratchDirectory(ScratchDirectory&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

ScratchDirectory::~ScratchDirectory() {
  if (lock_ < 0) return;
  delete_with_files(path_);
  close(lock_);
}

}  // namespace pawl

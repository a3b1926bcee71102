// SPDX-License-Identifier: Apache-2.0
#include "net/server/dev_directory.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "core/base/check.h"

namespace pawl {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view dev_prefix = "pawl-dev-";

// True: a directory of this user, of a server that was killed.
bool is_left_over(const std::string& path) {
  struct stat about{};
  if (lstat(path.c_str(), &about) != 0 || !S_ISDIR(about.st_mode) || about.st_uid != geteuid())
    return false;
  const auto age = std::chrono::system_clock::now() -
                   std::chrono::system_clock::from_time_t(about.st_mtim.tv_sec);
  if (age < DevDirectory::left_after) return false;
  const int lock = ::open((path + "/LOCK").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (lock < 0) return errno == ENOENT;  // killed before it was made
  const bool free = flock(lock, LOCK_EX | LOCK_NB) == 0;
  ::close(lock);
  return free;
}

void delete_left_overs(const std::string& parent) {
  std::error_code error;
  for (fs::directory_iterator at(parent, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    if (!at->path().filename().string().starts_with(dev_prefix)) continue;
    std::error_code kept;
    if (is_left_over(at->path().string())) fs::remove_all(at->path(), kept);
  }
}

}  // namespace

std::expected<DevDirectory, std::string> DevDirectory::make() {
  const char* const wanted = std::getenv("TMPDIR");
  return make_in(wanted != nullptr && *wanted != 0 ? wanted : "/tmp");
}

std::expected<DevDirectory, std::string> DevDirectory::make_in(const std::string& parent) {
  CHECK(!parent.empty(), "a directory without a parent");
  delete_left_overs(parent);
  std::string path = fmt::format("{}/{}XXXXXX", parent, dev_prefix);
  if (mkdtemp(path.data()) == nullptr) {
    return std::unexpected(
        fmt::format("cannot make a directory in {}: {}. Name a directory in which you may write "
                    "with the variable TMPDIR, or the data directory with --data",
                    parent, std::strerror(errno)));
  }
  return DevDirectory(std::move(path));
}

DevDirectory::DevDirectory(DevDirectory&& other) noexcept
    : path_(std::exchange(other.path_, std::string())) {}

DevDirectory::~DevDirectory() {
  if (path_.empty()) return;
  std::error_code kept;
  fs::remove_all(path_, kept);
  // remove_all() tries unlink() first, which Landlock refuses: see file_access.h.
  if (kept) ::rmdir(path_.c_str());
}

}  // namespace pawl

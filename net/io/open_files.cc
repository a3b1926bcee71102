// SPDX-License-Identifier: Apache-2.0
#include "net/io/open_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/base/check.h"

namespace pawl {

DirectAlignment direct_alignment(int fd) {
  struct statx file{};
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &file) != 0) return {};
  if ((file.stx_mask & STATX_DIOALIGN) == 0) return {};
  return {file.stx_dio_mem_align, file.stx_dio_offset_align};
}

OpenFiles::~OpenFiles() {
  for (const Row& row : rows_)
    if (row.descriptor >= 0) ::close(row.descriptor);
}

OpenFiles::Row& OpenFiles::row(FileId file) {
  const auto at = static_cast<std::size_t>(file);
  CHECK(at < rows_.size() && rows_[at].taken, "file {} of {}", at, rows_.size());
  return rows_[at];
}

// --- descriptors ---

int OpenFiles::open_now(const std::string& name, int flags) {
  flags |= O_RDWR | O_CLOEXEC | O_NOFOLLOW;
  if (direct_) {
    const int fd = openat(directory_, name.c_str(), flags | O_DIRECT, 0600);
    if (fd < 0 && errno != EINVAL) return -errno;
    if (fd >= 0 && (std::exchange(alignment_asked_, true) || direct_alignment(fd).takes_blocks()))
      return fd;
    if (fd >= 0) ::close(fd);
    direct_ = false;   // writes go through the page cache; fdatasync still makes them durable
    flags &= ~O_EXCL;  // the first call has created the file, also if it was refused
  }
  const int fd = openat(directory_, name.c_str(), flags, 0600);
  return fd < 0 ? -errno : fd;
}

int OpenFiles::open_closing_others(const std::string& name, int flags) {
  while (descriptors_ >= descriptors_max_ && close_one()) {
  }
  for (;;) {
    const int fd = open_now(name, flags);
    if ((fd != -EMFILE && fd != -ENFILE) || !close_one()) return fd;
  }
}

// Closes the least recently used eligible file. False: none is eligible.
bool OpenFiles::close_one() {
  for (std::uint32_t at = oldest_; at != none; at = rows_[at].newer) {
    Row& row = rows_[at];
    if (row.under_way > 0 || row.writes != row.flushed || row.name == nullptr) continue;
    CHECK(row.taken && row.descriptor >= 0);
    take_out(at);
    ::close(std::exchange(row.descriptor, -1));
    return true;
  }
  return false;
}

int OpenFiles::descriptor_of(FileId file) {
  Row& at = row(file);
  const auto index = static_cast<std::uint32_t>(file);
  if (at.descriptor >= 0) {
    if (newest_ != index) {
      take_out(index);
      put_first(index);
    }
    return at.descriptor;
  }
  if (at.name == nullptr) return -ENOENT;
  const int fd = open_closing_others(*at.name, 0);
  if (fd < 0) return fd;
  struct stat info{};
  const bool same = fstat(fd, &info) == 0 && info.st_dev == at.device && info.st_ino == at.inode;
  if (!same) {
    ::close(fd);
    return -ESTALE;
  }
  at.descriptor = fd;
  put_first(index);
  return fd;
}

void OpenFiles::put_first(std::uint32_t at) {
  CHECK(rows_[at].descriptor >= 0, "file {} has no descriptor", at);
  CHECK((newest_ == none) == (oldest_ == none));
  rows_[at].older = newest_;
  rows_[at].newer = none;
  (newest_ == none ? oldest_ : rows_[newest_].newer) = at;
  newest_ = at;
  ++descriptors_;
}

void OpenFiles::take_out(std::uint32_t at) {
  const auto [newer, older] = std::pair(rows_[at].newer, rows_[at].older);
  (newer == none ? newest_ : rows_[newer].older) = older;
  (older == none ? oldest_ : rows_[older].newer) = newer;
  CHECK(descriptors_ > 0);
  --descriptors_;
  CHECK((descriptors_ == 0) == (newest_ == none), "{} descriptors are open", descriptors_);
}

// --- files and their names ---

Result<FileId> OpenFiles::open(std::string_view name, int flags) {
  std::string path(name);
  const int fd = open_closing_others(path, flags);
  struct stat info{};
  const int error = fd < 0 ? -fd : fstat(fd, &info) != 0 ? errno : 0;
  if (error != 0) {
    if (fd >= 0) ::close(fd);
    return fail_for_space("open", error);
  }
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(rows_.size()));
    rows_.emplace_back();
  }
  const std::uint32_t at = free_.back();
  free_.pop_back();
  CHECK(!rows_[at].taken, "row {} is in use", at);
  const FileId file{static_cast<std::int32_t>(at)};
  const auto named = names_.emplace(std::move(path), file);
  rows_[at] = {.name = &named->first,
               .descriptor = fd,
               .device = info.st_dev,
               .inode = info.st_ino,
               .taken = true};
  put_first(at);
  return file;
}

void OpenFiles::close(FileId file) {
  Row& at = row(file);
  if (at.name != nullptr) {
    auto named = names_.find(*at.name);
    CHECK(named != names_.end());
    while (named->second != file) ++named;
    names_.erase(named);
  }
  const auto index = static_cast<std::uint32_t>(file);
  if (at.descriptor >= 0) {
    take_out(index);
    ::close(at.descriptor);
  }
  at = {};
  free_.push_back(index);
}

void OpenFiles::renamed(std::string_view from, std::string_view to) {
  if (from == to) return;
  removed(to);
  for (auto named = names_.find(from); named != names_.end(); named = names_.find(from)) {
    auto node = names_.extract(named);
    node.key() = to;
    const auto put = names_.insert(std::move(node));
    row(put->second).name = &put->first;
  }
}

void OpenFiles::removed(std::string_view name) {
  for (auto named = names_.find(name); named != names_.end(); named = names_.find(name)) {
    row(named->second).name = nullptr;
    names_.erase(named);
  }
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "wal/repair/directory_disk.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <iterator>

#include "core/base/check.h"
#include "wal/format/file_io.h"
#include "wal/format/format.h"

namespace pawl {
namespace {

namespace fs = std::filesystem;

int descriptor(FileId file) { return static_cast<int>(file); }

bool holds_manifest(const fs::path& directory) {
  return std::any_of(std::begin(manifest_names), std::end(manifest_names),
                     [&](std::string_view name) { return fs::exists(directory / name); });
}

}  // namespace

DirectoryDisk::~DirectoryDisk() {
  for (const int fd : open_) ::close(fd);
}

std::string DirectoryDisk::path_of(std::string_view name) const {
  return path_ + "/" + std::string(name);
}

Result<std::vector<FileInfo>> DirectoryDisk::list() {
  std::vector<FileInfo> files;
  std::error_code error;
  for (fs::directory_iterator entry(path_, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code unknown;
    const std::uint64_t bytes = entry->file_size(unknown);
    files.push_back({entry->path().filename().string(), unknown ? 0 : bytes});
  }
  if (error) return fail(Errc::io, "list directory", error.value());
  std::ranges::sort(files, {}, &FileInfo::name);
  return files;
}

Result<FileId> DirectoryDisk::open_with(std::string_view name, int flags) {
  const int access = access_ == Access::read ? O_RDONLY : O_RDWR | O_NOFOLLOW;
  const int fd = ::open(path_of(name).c_str(), access | O_CLOEXEC | flags, 0600);
  if (fd < 0) return fail_for_space("open", errno);
  open_.push_back(fd);
  return FileId{fd};
}

Result<FileId> DirectoryDisk::open(std::string_view name) { return open_with(name, 0); }

Result<FileId> DirectoryDisk::create(std::string_view name) {
  CHECK(access_ == Access::write, "{} is open for reading", path_);
  return open_with(name, O_CREAT | O_EXCL);
}

void DirectoryDisk::close(FileId file) {
  CHECK(std::erase(open_, descriptor(file)) == 1, "file {} is not open", descriptor(file));
  ::close(descriptor(file));
}

Result<void> DirectoryDisk::rename(std::string_view from, std::string_view to) {
  CHECK(access_ == Access::write, "{} is open for reading", path_);
  if (std::rename(path_of(from).c_str(), path_of(to).c_str()) != 0)
    return fail(Errc::io, "rename", errno);
  return {};
}

Result<void> DirectoryDisk::remove(std::string_view name) {
  CHECK(access_ == Access::write, "{} is open for reading", path_);
  if (::unlink(path_of(name).c_str()) != 0) return fail(Errc::io, "unlink", errno);
  return {};
}

Result<std::size_t> DirectoryDisk::read_now(FileId file, std::uint64_t offset,
                                            std::span<std::byte> into) {
  return read_file(descriptor(file), offset, into);
}

Result<void> DirectoryDisk::write_now(FileId file, std::uint64_t offset,
                                      std::span<const std::byte> from) {
  return write_file(descriptor(file), offset, from);
}

Result<void> DirectoryDisk::sync_now(FileId file) {
  if (::fsync(descriptor(file)) != 0) return fail(Errc::io, "fsync", errno);
  return {};
}

Result<void> DirectoryDisk::sync_dir_now() {
  const int fd = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int error = fd < 0 || ::fsync(fd) != 0 ? errno : 0;
  if (fd >= 0) ::close(fd);
  if (error != 0) return fail(Errc::io, "fsync of the directory", error);
  return {};
}

std::vector<std::string> logs_below(const std::string& directory) {
  if (holds_manifest(directory)) return {directory};
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error))
    if (entry.is_directory() && holds_manifest(entry.path()))
      found.push_back(entry.path().string());
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace pawl

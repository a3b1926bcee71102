// SPDX-License-Identifier: Apache-2.0
// DirectoryDisk: the directory of a log that is not open, for reading or for its repair.
//
// Errors: as wal/format/disk.h says. A directory that does not exist has no files.
// Owner:  one thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "wal/format/disk.h"

namespace pawl {

class DirectoryDisk final : public BlockingDisk {
 public:
  // A file opened for reading needs no permission to write. A file opened for writing is never a
  // symbolic link.
  enum class Access : std::uint8_t { read, write };
  explicit DirectoryDisk(std::string path, Access access = Access::read)
      : path_(std::move(path)), access_(access) {}
  ~DirectoryDisk() override;
  DirectoryDisk(const DirectoryDisk&) = delete;
  DirectoryDisk& operator=(const DirectoryDisk&) = delete;

  Result<std::vector<FileInfo>> list() override;
  Result<FileId> open(std::string_view name) override;
  Result<FileId> create(std::string_view name) override;
  void close(FileId file) override;
  Result<void> rename(std::string_view from, std::string_view to) override;
  Result<void> remove(std::string_view name) override;
  // A read or write may have any offset, length and memory.
  Result<std::size_t> read_now(FileId file, std::uint64_t offset,
                               std::span<std::byte> into) override;
  Result<void> write_now(FileId file, std::uint64_t offset,
                         std::span<const std::byte> from) override;
  Result<void> sync_now(FileId file) override;
  Result<void> sync_dir_now() override;

 private:
  std::string path_of(std::string_view name) const;
  Result<FileId> open_with(std::string_view name, int flags);

  std::string path_;
  Access access_;
  std::vector<int> open_;  // descriptors of the open files; a FileId is a descriptor
};

// The directory itself if it holds a manifest, or else its subdirectories that do, sorted.
std::vector<std::string> logs_below(const std::string& directory);

}  // namespace pawl

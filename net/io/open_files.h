// SPDX-License-Identifier: Apache-2.0
// OpenFiles: the open files of one directory. Only some of them have a descriptor: a log may have
// 16,384 segments and more, and a process often has 1,024 descriptors.
//
//   open(), create() --> with a descriptor --others used later--> without --descriptor_of()--> with
//
// A file keeps its descriptor while an operation is under way, while it has unflushed writes (an
// error of their writeback would be lost with it), and when its name was deleted. Such files may
// exceed descriptors_max. To open a file again costs about 20 us.
//
// Units:  -errno where an int is returned.
// Limits: descriptors_max, except for the files above.
// Errors: EMFILE, ENFILE: even after all eligible files were closed. ENOENT: the name was deleted
//         before the file was opened again. ESTALE: the name leads to another file. Else as
//         openat(2) says.
// Owner:  net/io/uring_disk.h.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "wal/format/disk.h"

namespace pawl {

// Alignments that a file needs for O_DIRECT; 0: the file system does not say (statx(2)).
struct DirectAlignment {
  std::uint32_t memory = 0;
  std::uint32_t offset = 0;
  bool takes_blocks() const { return memory <= block_bytes && offset <= block_bytes; }
};
DirectAlignment direct_alignment(int fd);

class OpenFiles {
 public:
  // `directory` is a descriptor that stays open.
  explicit OpenFiles(int directory) : directory_(directory) {}
  ~OpenFiles();
  OpenFiles(const OpenFiles&) = delete;
  OpenFiles& operator=(const OpenFiles&) = delete;

  void set_descriptors_max(std::uint32_t max) { descriptors_max_ = max; }
  // True: files are opened with O_DIRECT. The first file that does not support it, or that needs a
  // larger alignment than block_bytes, turns it off.
  bool direct() const { return direct_; }
  void set_direct(bool direct) { direct_ = direct; }

  // `flags`: 0, or O_CREAT | O_EXCL.
  Result<FileId> open(std::string_view name, int flags);
  void close(FileId file);
  // A name in the directory has changed or was deleted.
  void renamed(std::string_view from, std::string_view to);
  void removed(std::string_view name);

  // The descriptor is valid until the next call for another file, or until end().
  int descriptor_of(FileId file);
  void begin(FileId file) { ++row(file).under_way; }
  void end(FileId file) {
    Row& at = row(file);
    CHECK(at.under_way > 0, "an operation ends twice");
    --at.under_way;
  }
  // An unflushed write has ended.
  void wrote(FileId file) { ++row(file).writes; }
  std::uint32_t writes(FileId file) { return row(file).writes; }
  // The first `writes` writes, as counted by writes(), are on the disk.
  void flushed(FileId file, std::uint32_t writes) { row(file).flushed = writes; }

  std::uint32_t descriptors() const { return descriptors_; }

 private:
  using Names = std::multimap<std::string, FileId, std::less<>>;
  static constexpr std::uint32_t none = UINT32_MAX;
  struct Row {
    const std::string* name = nullptr;  // null: the name was deleted
    int descriptor = -1;
    std::uint32_t under_way = 0;
    std::uint32_t writes = 0, flushed = 0;
    std::uint32_t newer = none, older = none;  // list of files with a descriptor, by last use
    dev_t device = 0;
    ino_t inode = 0;
    bool taken = false;
  };

  Row& row(FileId file);
  int open_now(const std::string& name, int flags);
  int open_closing_others(const std::string& name, int flags);
  bool close_one();
  void put_first(std::uint32_t at);
  void take_out(std::uint32_t at);

  int directory_;
  bool direct_ = true;
  bool alignment_asked_ = false;
  std::uint32_t descriptors_max_ = UINT32_MAX;
  std::uint32_t descriptors_ = 0;
  std::vector<Row> rows_;
  std::vector<std::uint32_t> free_;
  Names names_;
  std::uint32_t newest_ = none, oldest_ = none;
};

}  // namespace pawl

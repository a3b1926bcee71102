// SPDX-License-Identifier: Apache-2.0
// RetiredFiles: segment files that the log no longer needs. They are renamed to new segments, or
// deleted.
//
//   segment in use --add()--> retired --take()--> next segment, or deleted
//
// A filled file was a whole segment: it needs no disk space to be used again.
//
// Units:  bytes.
// Limits: none; SegmentMaker deletes the files that SegmentDemand does not want.
// Owner:  SegmentPool, which closes the files that are left.
#pragma once

#include <cstdint>
#include <vector>

#include "wal/format/disk.h"

namespace pawl {

struct RetiredFile {
  std::uint64_t number = 0;
  FileId file = FileId::none;
  bool filled = false;      // the whole file is usable space
  std::uint64_t bytes = 0;  // on the disk
};

class RetiredFiles {
 public:
  RetiredFiles() { files_.reserve(64); }

  void add(const RetiredFile& file);
  // The best file for segment `number`; size() if there is none. A file that already has the name
  // must be chosen: a rename onto it would lose it. Filled files come next.
  std::size_t choose(std::uint64_t number) const;
  RetiredFile take(std::size_t i);
  RetiredFile take_last() { return take(files_.size() - 1); }

  bool empty() const { return files_.empty(); }
  std::size_t size() const { return files_.size(); }
  std::uint64_t filled() const { return filled_; }  // number of filled files
  std::uint64_t bytes() const;                      // of all files, on the disk
  const RetiredFile& operator[](std::size_t i) const { return files_[i]; }
  const RetiredFile& last() const { return files_.back(); }

 private:
  std::vector<RetiredFile> files_;
  std::uint64_t filled_ = 0;
};

}  // namespace pawl

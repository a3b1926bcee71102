// SPDX-License-Identifier: Apache-2.0
// LogContent: the bytes of a log that is not open, with planned changes over them. A few functions
// read the files of such a log.
//
// A segment is read as a whole; zeros stand for the bytes that are missing. put() lays new bytes
// over it in memory; wal/repair/apply.h writes them to the disk.
//
// Units:  bytes; Lsn as in wal/format/format.h.
// Limits: one segment is in memory at a time, and all bytes of put().
// Errors: Errc::io.
// Owner:  one thread; the disk outlives it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "wal/format/disk.h"
#include "wal/format/format.h"

namespace pawl {

// Reads `bytes`; fewer at the end of the file.
Result<std::vector<std::byte>> read_file(BlockingDisk& disk, std::string_view name,
                                         std::uint64_t offset, std::size_t bytes);

// The text for a position: segment, byte and lsn.
std::string describe(const Geometry& at, Lsn lsn);

// The numbers in the names of segment files, in ascending order; none if the disk cannot be listed.
std::vector<std::uint64_t> segments_in(BlockingDisk& disk);
// The number of new files that the disk could not write.
std::uint64_t files_set_aside_in(BlockingDisk& disk);

class LogContent {
 public:
  struct File {
    std::uint64_t bytes = 0;
    bool header = false;           // its header is the one of this log and segment
    bool whole = false;            // and it has full size
    std::int64_t is_another = -1;  // the header's number if it differs from the name's
  };

  LogContent(BlockingDisk& disk, const Geometry& geometry) : disk_(&disk), at_(geometry) {}

  Result<void> open();  // called once

  const Geometry& geometry() const { return at_; }
  const std::map<std::uint64_t, File>& files() const { return files_; }
  bool there(std::uint64_t number) const { return files_.contains(number); }
  // The first position, at `lsn` or after it, where a frame may begin.
  Lsn frame_position(Lsn lsn) const;
  // Bytes of a segment that frames may use, from its header or set_usable_bytes(); 0: unknown.
  std::uint64_t usable_bytes(std::uint64_t number) const;
  void set_usable_bytes(std::uint64_t number, std::uint64_t bytes);

  // The bytes from `lsn` to the end of its extent, valid until the next call.
  Result<std::span<const std::byte>> from(Lsn lsn);

  // Lays `bytes` over the content. They must not cross the end of a segment.
  void put(Lsn lsn, std::vector<std::byte> bytes);
  // Plans to create the segment, or to restore its size and header, unless it is whole.
  void make_whole(std::uint64_t number);

  const std::map<Lsn, std::vector<std::byte>>& changes() const { return changes_; }
  const std::set<std::uint64_t>& made_whole() const { return made_whole_; }

 private:
  Result<void> load(std::uint64_t number);
  void lay_over(Lsn lsn, std::span<const std::byte> bytes);

  BlockingDisk* disk_;
  Geometry at_;
  std::map<std::uint64_t, File> files_;
  std::map<std::uint64_t, std::uint64_t> usable_;
  std::map<Lsn, std::vector<std::byte>> changes_;
  std::set<std::uint64_t> made_whole_;
  std::uint64_t number_ = UINT64_MAX;
  std::vector<std::byte> segment_;
};

}  // namespace pawl

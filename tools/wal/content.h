// LogContent: the bytes of a log that is not open, as they are and as they will be.
//
// A segment is read whole and filled up with zeros if it is shorter, or not there. What is put() lies over that, in
// memory; writing it is tools/wal/apply.h.
//
// Units:  bytes; Lsn as in wal/format.h.
// Limits: one segment is in memory at a time, and what was put.
// Errors: Errc::io.
// Owner:  one thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "wal/format.h"

namespace pawl {

// Reads up to `bytes`; fewer at the end of the file.
Result<std::vector<std::byte>> read_file(const std::string& path, std::uint64_t offset,
                                         std::size_t bytes);

// As it is said to people.
std::string place_in(const Geometry& at, Lsn lsn);

// The numbers in the names of segments, rising.
std::vector<std::uint64_t> segments_in(const std::string& directory);
// New files that the disk could not write.
std::uint64_t files_set_aside_in(const std::string& directory);

class LogContent {
 public:
  struct File {
    std::uint64_t bytes = 0;
    bool header = false;           // the right one
    bool whole = false;            // full size, too
    std::int64_t is_another = -1;  // the number its header says, if that is another
  };

  LogContent(std::string directory, const Geometry& geometry)
      : directory_(std::move(directory)), at_(geometry) {}

  Result<void> open();

  const Geometry& geometry() const { return at_; }
  const std::string& directory() const { return directory_; }
  const std::map<std::uint64_t, File>& files() const { return files_; }
  bool there(std::uint64_t number) const { return files_.contains(number); }
  // Where a frame may begin, at `lsn` or behind it.
  Lsn frame_place(Lsn lsn) const;
  // For frames, in bytes, by the segment's header or by set_room(); 0: nothing says.
  std::uint64_t room(std::uint64_t number) const;
  void set_room(std::uint64_t number, std::uint64_t bytes) { rooms_[number] = bytes; }

  // From `lsn` to the end of its extent. Holds until the next call.
  Result<std::span<const std::byte>> from(Lsn lsn);

  // From now on these bytes are there. They do not cross the end of a segment.
  void put(Lsn lsn, std::vector<std::byte> bytes);
  // The segment is made, or gets its size and header, if anything of that is wanting.
  void make_whole(std::uint64_t number);

  const std::map<Lsn, std::vector<std::byte>>& changes() const { return changes_; }
  const std::set<std::uint64_t>& made_whole() const { return made_whole_; }

 private:
  Result<void> load(std::uint64_t number);
  void lay_over(Lsn lsn, std::span<const std::byte> bytes);

  std::string directory_;
  Geometry at_;
  std::map<std::uint64_t, File> files_;
  std::map<std::uint64_t, std::uint64_t> rooms_;
  std::map<Lsn, std::vector<std::byte>> changes_;
  std::set<std::uint64_t> made_whole_;
  std::uint64_t number_ = UINT64_MAX;
  std::vector<std::byte> segment_;
};

}  // namespace pawl

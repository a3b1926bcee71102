// Image: the log in RAM, in extents. A message's body lies here, or on the disk alone.
//
//   absent --open()--> filling --settle()--> settled --last record released--> freed
//                                   |  ^
//                      make_room()  v  |  end_load()
//                                 on disk --begin_load()--> loading
//
// An extent is settled when the tail has left it and every frame in it is durable: from then on it can only
// lose records, and its memory may be taken for others. What was loaded again is not to be believed before its
// hash has been looked at. A freed extent keeps its row, so that a position finds its memory with one table
// lookup, until forget() drops the rows of reused segments.
//
// Units:  extents are counted from the start of the stream; live counts are SEND records.
// Limits: `memory_max` bytes as far as settled extents go: the longest untouched one goes first (second chance).
//         What is not settled is needed; room() of the log watches how much that is.
// Errors: none; memory that cannot be had is a CHECK.
// Owner:  the log of one shard. Memory under a disk write is never freed: it is not settled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/ids.h"
#include "core/ring_queue.h"

namespace pawl {

// Memory for O_DIRECT: aligned to a block.
class PageBlock {
 public:
  PageBlock() = default;
  explicit PageBlock(std::size_t bytes);  // what is in it is not said
  ~PageBlock();
  PageBlock(PageBlock&& other) noexcept;
  PageBlock& operator=(PageBlock&& other) noexcept;

  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }
  std::span<std::byte> span() const { return {data_, bytes_}; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

class Image {
 public:
  static constexpr std::size_t spare_extents_max = 4;  // kept for the next ones instead of freed
  static constexpr std::size_t touch_bytes_max = 64 << 10;  // of memory made ready by one call

  Image(std::uint64_t extent_bytes, std::uint64_t memory_max);

  // Where extent 0 of the table is. Only while the image is empty.
  void start(std::uint64_t first_extent);
  // Memory of the extent, made when it is not there. Extents are opened in rising order, gaps are allowed.
  std::byte* open(std::uint64_t extent);
  // Touches a piece of the memory for the next extent, unless freed extents serve for that. A page costs a fault when it
  // is touched first, and the tail must not pay for a whole extent at once.
  void ready_ahead();
  // The byte at a position; its extent is there.
  std::byte* at(Lsn lsn) const {
    const Extent& extent = row(lsn >> shift_);
    CHECK(extent.memory, "nothing in memory at {}", lsn);
    return extent.memory.data() + (lsn & mask_);
  }
  // From there to the end of the extent.
  std::span<const std::byte> rest_of_extent(Lsn lsn) const {
    return {at(lsn), static_cast<std::size_t>(mask_ + 1 - (lsn & mask_))};
  }
  bool has(std::uint64_t extent) const {
    return extent >= first_ && extent - first_ < rows_.size() && row(extent).memory &&
           !row(extent).loading;
  }
  bool has_at(Lsn lsn) const { return has(lsn >> shift_); }

  void add_live(LogPos position) { ++row(position >> shift_).live; }
  // At a start: the same where no extent has been opened yet.
  void hold(LogPos position) {
    make_rows(position >> shift_);
    add_live(position);
  }
  // At a start: not all of what was read into it was looked at.
  void doubt(std::uint64_t extent) { row(extent).loaded = true; }
  // At a start: extents below `extent` are settled, wherever they are.
  void skip_to(std::uint64_t extent);
  bool settled(std::uint64_t extent) const { return extent < settled_; }
  // Messages in it; of any extent.
  std::uint64_t live(std::uint64_t extent) const {
    return extent >= first_ && extent - first_ < rows_.size() ? row(extent).live : 0;
  }
  void release(LogPos position) {
    const std::uint64_t extent = position >> shift_;
    Extent& e = row(extent);
    CHECK(e.live > 0, "released twice: {}", position);
    if (--e.live == 0 && extent < settled_ && !e.loading) free(e);
  }

  // --- settled extents, which come and go ---
  // It was used. Whether it had been read ahead, and this is the first time.
  bool touch(Lsn lsn) {
    Extent& e = row(lsn >> shift_);
    e.touched = true;
    return std::exchange(e.ahead, false);
  }
  // Its bytes came back from the disk, or are in doubt: each record's hash is to be looked at.
  bool loaded(Lsn lsn) const { return row(lsn >> shift_).loaded; }
  // One more message of it is wanted that is not in memory; how many were since it was.
  void note_want(Lsn lsn) {
    Extent& e = row(lsn >> shift_);
    if (e.wanted < UINT16_MAX) ++e.wanted;
  }
  std::uint32_t wanted(std::uint64_t extent) const { return row(extent).wanted; }
  // It cannot be read as a whole.
  bool unreadable(std::uint64_t extent) const { return row(extent).unreadable; }
  // Memory for it, to be read into, until end_load().
  std::byte* begin_load(std::uint64_t extent, bool ahead);
  void end_load(std::uint64_t extent, bool read);
  // Takes memory of settled extents until one more fits; false: it does not.
  bool make_room();
  void set_memory_max(std::uint64_t bytes) { extents_max_ = bytes >> shift_; }
  std::uint64_t evicted() const { return evicted_; }

  // Every extent below `extent` can only lose records from now on.
  void settle(std::uint64_t extent);
  // Extents at and above `extent` were never part of the log (read ahead at recovery).
  void truncate(std::uint64_t extent);
  // Drops the rows below `extent`; nothing is live there.
  void forget(std::uint64_t extent);

  std::uint64_t bytes() const { return in_use_ << shift_; }
  std::uint64_t spare_bytes() const { return (spare_.size() << shift_) + touched_; }  // besides
  // Of these, what is needed where it is.
  std::uint64_t needed() const { return (in_use_ - evictable_) << shift_; }

 private:
  struct Extent {
    PageBlock memory;
    std::uint32_t live = 0;
    std::uint16_t wanted = 0;
    bool touched = false;
    bool loaded = false;
    bool loading = false;
    bool ahead = false;
    bool evictable = false;  // settled, in memory and whole
    bool unreadable = false;
  };

  Extent& row(std::uint64_t extent) {
    CHECK(extent >= first_ && extent - first_ < rows_.size(), "extent {}", extent);
    return rows_[extent - first_];
  }
  const Extent& row(std::uint64_t extent) const { return const_cast<Image*>(this)->row(extent); }
  void make_rows(std::uint64_t last);
  std::byte* memory_of(Extent& extent);
  void free(Extent& extent);  // of a settled one, or of one that never was part of the log
  void make_evictable(std::uint64_t extent);
  bool evict();

  unsigned shift_;
  std::uint64_t mask_;
  std::uint64_t first_ = 0;    // the extent rows_[0] stands for
  std::uint64_t settled_ = 0;  // every extent below is settled
  std::uint64_t extents_max_;
  std::uint64_t in_use_ = 0;
  std::uint64_t evictable_ = 0;
  std::uint64_t evicted_ = 0;
  RingQueue<std::uint64_t>
      in_memory_;  // settled ones, those that came longest ago first; some have gone
  RingQueue<Extent> rows_;
  std::vector<PageBlock> spare_;
  PageBlock ahead_;  // memory for the next extent, of which touched_ bytes are ready
  std::size_t touched_ = 0;
};

}  // namespace pawl

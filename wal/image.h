// Image: the log in RAM, in extents. A message's body lies here and nowhere else.
//
//   absent --open()--> filling --settle()--> settled --last record released--> freed
//                                   \----- nothing live in it -----------------^
//
// An extent is settled when the tail has left it and every frame in it is durable (or it was read back
// whole at recovery): from then on it can only lose records. A freed extent keeps its row, so that a
// position finds its memory with one table lookup, until forget() drops the rows of reused segments.
//
// Units:  extents are counted from the start of the stream; live counts are SEND records.
// Limits: none of its own; room() of the log watches bytes().
// Errors: none; memory that cannot be had is a CHECK.
// Owner:  the log of one shard. Memory under a disk write is never freed: it is not settled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/check.h"
#include "core/ids.h"
#include "core/ring_queue.h"

namespace pawl {

// Memory for O_DIRECT: aligned to a block, or to 2 MiB (and huge pages asked for) when it is that large.
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

  explicit Image(std::uint64_t extent_bytes);

  // Where extent 0 of the table is. Only while the image is empty.
  void start(std::uint64_t first_extent);
  // Memory of the extent, made when it is not there. Extents are opened in rising order, gaps are allowed.
  std::byte* open(std::uint64_t extent);
  // The byte at a position; its extent is there.
  std::byte* at(Lsn lsn) const {
    const Extent& extent = row(lsn >> shift_);
    CHECK(extent.memory, "nothing in memory at {}", lsn);
    return extent.memory.data() + (lsn & mask_);
  }
  bool has(std::uint64_t extent) const {
    return extent >= first_ && extent - first_ < rows_.size() && rows_[extent - first_].memory;
  }

  void add_live(LogPos position) { ++row(position >> shift_).live; }
  void release(LogPos position) {
    const std::uint64_t extent = position >> shift_;
    Extent& e = row(extent);
    CHECK(e.live > 0, "released twice: {}", position);
    if (--e.live == 0 && extent < settled_) free(e);
  }

  // Every extent below `extent` can only lose records from now on.
  void settle(std::uint64_t extent);
  // Extents at and above `extent` were never part of the log (read ahead at recovery).
  void truncate(std::uint64_t extent);
  // Drops the rows below `extent`; nothing is live there.
  void forget(std::uint64_t extent);

  // The first extent that is still needed: it is live, or not settled.
  std::uint64_t first_needed();
  std::uint64_t bytes() const { return in_use_ << shift_; }

 private:
  struct Extent {
    PageBlock memory;
    std::uint64_t live = 0;
  };

  Extent& row(std::uint64_t extent) {
    CHECK(extent >= first_ && extent - first_ < rows_.size(), "extent {}", extent);
    return rows_[extent - first_];
  }
  const Extent& row(std::uint64_t extent) const { return const_cast<Image*>(this)->row(extent); }
  void free(Extent& extent);

  unsigned shift_;
  std::uint64_t mask_;
  std::uint64_t first_ = 0;    // the extent rows_[0] stands for
  std::uint64_t settled_ = 0;  // every extent below is settled
  std::uint64_t needed_ = 0;   // no extent below is needed
  std::uint64_t in_use_ = 0;
  RingQueue<Extent> rows_;
  std::vector<PageBlock> spare_;
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Image: the log in RAM, in extents. A message's body is here, or on the disk only.
//
//   absent --open()--> filling --settle()--> settled --last record released--> freed
//                                   |  ^
//                      make_space()  v  |  end_load()
//                                 on disk --begin_load()--> loading
//
// An extent is settled when the tail has left it and every frame in it is durable. From then on it
// can only lose records, and its memory may be evicted. A record loaded again is trusted only after
// a check of its hash. A freed extent keeps its row, so that a position finds its memory with one
// table lookup, until forget() drops the rows of reused segments.
//
// Units:  extents are counted from the start of the stream; live counts are SEND records.
// Limits: `memory_max` bytes, enforced by evicting settled extents: the longest untouched one first
//         (second chance). Extents with few messages left go before, so that memory follows the
//         messages that exist. Unsettled extents are needed in any case; Log::check_free_space()
//         limits them.
// Errors: none; a failed memory allocation is a CHECK.
// Owner:  the log of one shard. Memory being written to disk is never freed: it is not settled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/ids.h"
#include "core/containers/ring_queue.h"
#include "wal/format/page_block.h"

namespace pawl {

class Image {
 public:
  static constexpr std::size_t spare_extents_max = 4;       // kept for the next extents, not freed
  static constexpr std::size_t touch_bytes_max = 64 << 10;  // memory touched by one ready_ahead()

  Image(std::uint64_t extent_bytes, std::uint64_t memory_max);

  // Sets the first extent of the table. Only while the image is empty.
  void start(std::uint64_t first_extent);
  // Returns the memory of the extent, allocated if needed. Extents are opened in rising order; gaps
  // are allowed.
  std::byte* open(std::uint64_t extent);
  // Touches a piece of the memory for the next extent, unless freed memory is there to be reused.
  // The first touch of a page costs a fault, and the tail must not pay for a whole extent at once.
  void ready_ahead();
  // The byte at a position; its extent must be in memory.
  std::byte* at(Lsn lsn) const {
    const Extent& extent = row(lsn >> shift_);
    CHECK(extent.memory, "nothing in memory at {}", lsn);
    return extent.memory.data() + (lsn & mask_);
  }
  // The bytes from `lsn` to the end of its extent.
  std::span<const std::byte> rest_of_extent(Lsn lsn) const {
    return {at(lsn), static_cast<std::size_t>(mask_ + 1 - (lsn & mask_))};
  }
  bool has(std::uint64_t extent) const {
    return extent >= first_ && extent - first_ < rows_.size() && row(extent).memory &&
           !row(extent).loading;
  }
  bool has_at(Lsn lsn) const { return has(lsn >> shift_); }

  void add_live(LogPos position) {
    Extent& e = row(position >> shift_);
    CHECK(e.live < UINT32_MAX, "too many messages at {}", position);
    ++e.live;
    ++e.sends;
  }
  // Recovery only: add_live() for an extent that may not be opened yet.
  void hold(LogPos position) {
    make_rows(position >> shift_);
    add_live(position);
  }
  // Recovery only: some bytes read into the extent were not verified.
  void doubt(std::uint64_t extent) { row(extent).loaded = true; }
  // Recovery only: extents below `extent` count as settled, in memory or not.
  void skip_to(std::uint64_t extent);
  bool settled(std::uint64_t extent) const { return extent < settled_; }
  // The number of messages in any extent, also outside the table.
  std::uint64_t live(std::uint64_t extent) const {
    return extent >= first_ && extent - first_ < rows_.size() ? row(extent).live : 0;
  }
  void release(LogPos position) {
    const std::uint64_t extent = position >> shift_;
    Extent& e = row(extent);
    CHECK(e.live > 0, "released twice: {}", position);
    if (--e.live == 0 && extent < settled_ && !e.loading) free(e);
  }

  // --- settled extents: loaded and evicted ---
  // Notes a use of the extent. True: it was read ahead, and this is its first use.
  bool touch(Lsn lsn) {
    Extent& e = row(lsn >> shift_);
    e.touched = e.recent = true;
    return std::exchange(e.ahead, false);
  }
  // True: its bytes were loaded or are unverified, so each record's hash must be checked.
  bool loaded(Lsn lsn) const { return row(lsn >> shift_).loaded; }
  // Counts a wanted message that is not in memory. wanted() is the count since its extent last was.
  void note_want(Lsn lsn) {
    Extent& e = row(lsn >> shift_);
    if (e.wanted < UINT16_MAX) ++e.wanted;
  }
  std::uint32_t wanted(std::uint64_t extent) const { return row(extent).wanted; }
  // True: the extent cannot be read as a whole.
  bool unreadable(std::uint64_t extent) const { return row(extent).unreadable; }
  // Returns memory to read the extent into, until end_load().
  std::byte* begin_load(std::uint64_t extent, bool ahead);
  void end_load(std::uint64_t extent, bool read);
  // Evicts settled extents until one more fits; false: it does not fit.
  bool make_space();
  // Evicts the settled extents that have lost seven eighths of their messages and were not touched
  // since the last call. True: some that have were touched, and call it again later.
  bool evict_sparse();
  void set_memory_max(std::uint64_t bytes) { extents_max_ = bytes >> shift_; }
  std::uint64_t evicted() const { return evicted_; }

  // Marks the extents below `extent` as settled: they can only lose records from now on.
  void settle(std::uint64_t extent);
  // Drops the extents from `extent` on: recovery read them, but they are not part of the log.
  void truncate(std::uint64_t extent);
  // Drops the rows below `extent`; no message there is live.
  void forget(std::uint64_t extent);

  std::uint64_t bytes() const { return in_use_ << shift_; }
  // Memory kept for the next extents, in addition to bytes().
  std::uint64_t spare_bytes() const { return (spare_.size() << shift_) + touched_; }
  // The part of bytes() that cannot be evicted.
  std::uint64_t needed() const {
    CHECK(evictable_ <= in_use_, "{} of {} extents", evictable_, in_use_);
    return (in_use_ - evictable_) << shift_;
  }

 private:
  struct Extent {
    PageBlock memory;
    std::uint32_t live = 0;
    std::uint32_t sends = 0;  // messages ever counted in it; may wrap
    std::uint16_t wanted = 0;
    bool touched = false;
    bool recent = false;  // touched since the latest evict_sparse()
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
  void free(Extent& extent);  // a settled extent, or one that is not part of the log
  void make_evictable(std::uint64_t extent);
  bool evict();

  unsigned shift_;
  std::uint64_t mask_;
  std::uint64_t first_ = 0;    // the extent of rows_[0]
  std::uint64_t settled_ = 0;  // every extent below is settled
  std::uint64_t extents_max_;
  std::uint64_t in_use_ = 0;
  std::uint64_t evictable_ = 0;
  std::uint64_t evicted_ = 0;
  RingQueue<std::uint64_t>
      in_memory_;  // settled extents in memory, oldest first; some entries are stale
  RingQueue<Extent> rows_;
  std::vector<PageBlock> spare_;
  PageBlock ahead_;  // memory for the next extent, of which touched_ bytes are ready
  std::size_t touched_ = 0;
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "wal/image.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "wal/format/disk.h"

namespace pawl {

Image::Image(std::uint64_t extent_bytes, std::uint64_t memory_max)
    : shift_(static_cast<unsigned>(std::countr_zero(extent_bytes))),
      mask_(extent_bytes - 1),
      extents_max_(memory_max / extent_bytes) {
  CHECK(std::has_single_bit(extent_bytes), "{}", extent_bytes);
  spare_.reserve(spare_extents_max);
}

void Image::start(std::uint64_t first_extent) {
  CHECK(rows_.empty() && in_use_ == 0, "{} extents", rows_.size());
  first_ = settled_ = first_extent;
}

void Image::make_rows(std::uint64_t last) {
  for (; first_ > last; --first_) rows_.push_front({});  // only during recovery
  while (first_ + rows_.size() <= last) rows_.push_back({});
}

std::byte* Image::memory_of(Extent& extent) {
  if (!extent.memory) {
    if (!spare_.empty()) {
      extent.memory = std::move(spare_.back());
      spare_.pop_back();
    } else if (ahead_) {
      extent.memory = std::move(ahead_);
      touched_ = 0;
    } else {
      extent.memory = PageBlock(mask_ + 1);
    }
    ++in_use_;
  }
  return extent.memory.data();
}

void Image::ready_ahead() {
  if (!spare_.empty()) return;
  if (!ahead_) ahead_ = PageBlock(mask_ + 1);
  CHECK(touched_ <= ahead_.size(), "{} of {}", touched_, ahead_.size());
  const std::size_t bytes = std::min(touch_bytes_max, ahead_.size() - touched_);
  if (bytes == 0) return;
  madvise(ahead_.data() + touched_, bytes,
          MADV_POPULATE_WRITE);  // on failure: touched when used
  touched_ += bytes;
}

std::byte* Image::open(std::uint64_t extent) {
  CHECK(extent >= settled_, "extent {} is settled", extent);
  make_rows(extent);
  CHECK(!row(extent).loading, "extent {} is being read", extent);
  if (!row(extent).memory) (void)make_space();  // unsettled extents are needed in any case
  return memory_of(row(extent));
}

void Image::skip_to(std::uint64_t extent) {
  CHECK(extent >= settled_, "extent {} of {}", extent, settled_);
  if (extent > first_) make_rows(extent - 1);
  settled_ = extent;
}

void Image::free(Extent& extent) {
  if (!extent.memory) return;
  CHECK(!extent.loading, "the disk reads into the extent");
  CHECK(in_use_ > 0, "no extent is in memory");
  CHECK(evictable_ > 0 || !extent.evictable, "no extent is evictable");
  if (extent.evictable) --evictable_;
  extent.evictable = extent.loaded = extent.ahead = extent.touched = false;
  --in_use_;
  if (spare_.size() < spare_extents_max) {
    spare_.push_back(std::move(extent.memory));
  } else {
    extent.memory = PageBlock();
  }
}

void Image::make_evictable(std::uint64_t extent) {
  Extent& e = row(extent);
  CHECK(e.memory && !e.evictable, "extent {} is not in memory, or evictable already", extent);
  e.evictable = e.touched = e.recent = true;
  e.wanted = 0;
  ++evictable_;
  CHECK(evictable_ <= in_use_, "{} of {} extents", evictable_, in_use_);
  // Each extent has at most one entry, because an extent freed by its last record does not return.
  if (in_memory_.size() > 2 * evictable_ + 64) {
    for (std::size_t n = in_memory_.size(); n > 0; --n) {
      const std::uint64_t candidate = in_memory_.front();
      in_memory_.pop_front();
      if (candidate >= first_ && row(candidate).evictable && candidate != extent)
        in_memory_.push_back(candidate);
    }
  }
  in_memory_.push_back(extent);
}

std::byte* Image::begin_load(std::uint64_t extent, bool ahead) {
  Extent& e = row(extent);
  CHECK(extent < settled_ && !e.memory, "extent {}", extent);
  CHECK(!e.loading, "extent {} is being read", extent);
  e.loading = true;
  e.ahead = ahead;
  return memory_of(e);
}

void Image::end_load(std::uint64_t extent, bool read) {
  Extent& e = row(extent);
  CHECK(e.loading && e.memory, "extent {} is not being read", extent);
  e.loading = false;
  if (!read) {
    e.unreadable = true;
    return free(e);
  }
  make_evictable(extent);
  e.loaded = true;
  if (e.live == 0) free(e);
}

// Second chance: an extent touched since the last check goes to the end of the queue.
bool Image::evict() {
  for (std::size_t n = 2 * in_memory_.size(); n > 0 && !in_memory_.empty(); --n) {
    const std::uint64_t extent = in_memory_.front();
    in_memory_.pop_front();
    if (extent < first_ || !row(extent).evictable) continue;
    if (std::exchange(row(extent).touched, false)) {
      in_memory_.push_back(extent);
      continue;
    }
    free(row(extent));
    ++evicted_;
    return true;
  }
  return false;
}

bool Image::evict_sparse() {
  bool again = false;
  for (std::size_t n = in_memory_.size(); n > 0; --n) {
    const std::uint64_t extent = in_memory_.front();
    in_memory_.pop_front();
    if (extent < first_ || !row(extent).evictable) continue;
    Extent& e = row(extent);
    const bool sparse = std::uint64_t{e.live} * 8 <= e.sends;
    if (!sparse || std::exchange(e.recent, false)) {
      in_memory_.push_back(extent);
      again |= sparse;
      continue;
    }
    free(e);
    ++evicted_;
  }
  return again;
}

bool Image::make_space() {
  while (in_use_ >= extents_max_ && evict()) {
  }
  return in_use_ < extents_max_;
}

void Image::settle(std::uint64_t extent) {
  const std::uint64_t end = std::min(extent, first_ + rows_.size());
  for (; settled_ < end; ++settled_) {
    Extent& e = row(settled_);
    if (e.live == 0) {
      free(e);
    } else if (e.memory) {
      make_evictable(settled_);
    }
  }
}

void Image::truncate(std::uint64_t extent) {
  CHECK(extent >= settled_);
  while (first_ + rows_.size() > extent && !rows_.empty()) {
    CHECK(rows_.back().live == 0, "{} messages behind the end", rows_.back().live);
    free(rows_.back());
    rows_.pop_back();
  }
}

void Image::forget(std::uint64_t extent) {
  for (; first_ < extent; ++first_) {
    CHECK(first_ < settled_ && row(first_).live == 0, "extent {} is needed", first_);
    rows_.pop_front();
  }
}

}  // namespace pawl

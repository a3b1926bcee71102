// SPDX-License-Identifier: Apache-2.0
#include "wal/relocation.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace pawl {

void Relocation::choose(std::uint64_t below, std::uint64_t in_log, std::uint64_t free_bytes) {
  CHECK(!active(), "segment {} is being emptied", segment_);
  CHECK(below <= in_log && in_log <= pool_.tail(), "{} of {}, the tail in {}", below, in_log,
        pool_.tail());
  looked_tail_ = pool_.tail();
  looked_below_ = below;
  looked_disk_full_ = pool_.disk_full();
  const SegmentPool::Use use = pool_.use(below, in_log);
  if (use.oldest == pool_.ready_end()) return;
  // Files without frames count too: the bound is that of the disk.
  const std::uint64_t dead_max = dead_max_ - std::min(dead_max_, pool_.bytes_ahead());
  const bool wasteful = use.bytes > 2 * use.live + dead_max;
  const bool short_of = pool_.disk_full() && use.left <= free_bytes;
  const bool worth_it = use.left < use.usable_bytes / 4 * 3;
  // If segments in use reach half of span_max, the tables are worth their memory.
  const bool sparse = use.bytes / geometry_.segment_bytes < span_max / 2;
  if (pool_.tail() - pool_.first() > span_max && sparse) {
    begin(use.oldest);
  } else if ((wasteful || short_of) && worth_it) {
    begin(use.emptiest);
  }
}

void Relocation::begin(std::uint64_t segment) {
  CHECK(!active() && !reading() && !have_, "segment {} is being emptied", segment_);
  segment_ = segment;
  scan_.begin(geometry_.segment_base(segment));
  extent_ = geometry_.extent_of(geometry_.segment_base(segment));
  pool_.begin_emptying(segment);
  if (!memory_) memory_ = PageBlock(geometry_.extent_bytes);
}

void Relocation::end() {
  CHECK(active() && !reading(), "nothing is being emptied");
  pool_.end_emptying(std::exchange(segment_, none));
  memory_ = PageBlock();
  look_again();  // another segment may be eligible
}

void Relocation::pump(bool stopping) {
  if (io_.done) {
    CHECK(active() && !have_, "a read of extent {}", extent_);
    have_ = std::exchange(io_, {}).result == static_cast<std::int32_t>(geometry_.extent_bytes);
    if (have_) {
      scan_.begin_extent(extent_, memory_.span());
    } else {
      ++extent_;
    }
  }
  if (active() && !have_ && !io_.armed && !stopping) read_on();
}

// Reads the next extent that contains a message.
void Relocation::read_on() {
  const std::uint64_t end_extent = geometry_.extent_of(geometry_.segment_base(segment_ + 1));
  while (extent_ < end_extent && image_.live(extent_) == 0) ++extent_;
  if (extent_ == end_extent) return end();
  CHECK(extent_ < end_extent, "extent {} of {}", extent_, end_extent);
  const Lsn from = extent_ * geometry_.extent_bytes;
  disk_.read(pool_.file(segment_), geometry_.offset_of(from), memory_.span(), io_);
}

bool Relocation::next(FoundSend& found) {
  if (!have_) return false;
  if (scan_.next(found)) return true;
  have_ = false;
  ++extent_;
  return false;
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "wal/segments/segment_pool.h"

#include <algorithm>

#include "core/base/check.h"

namespace pawl {

SegmentPool::SegmentPool(Disk& disk, const Geometry& geometry, std::uint32_t spares,
                         bool small_segments, Duration fill_every, bool flush_each_fill)
    : disk_(disk),
      geometry_(geometry),
      table_(geometry),
      retention_(table_),
      demand_(geometry, table_, retired_, spares, small_segments),
      maker_(disk, geometry, table_, retired_, demand_, fill_every, flush_each_fill) {}

SegmentPool::~SegmentPool() {
  table_.close_all(disk_);
  for (std::size_t i = 0; i < retired_.size(); ++i) disk_.close(retired_[i].file);
}

void SegmentPool::retire(std::uint64_t below, Lsn durable) {
  CHECK(below <= tail() && below <= ready_end(), "{} of {}", below, tail());
  retired_below_ = below;
  retired_kept_ = kept_from();
  table_.retire(std::min(below, kept_from()), durable, retired_);
  // On a full disk, segments kept only for replay are retired, the oldest first.
  for (std::uint64_t n = std::max(kept_from(), first());
       disk_full() && retired_.filled() == 0 && n < below; ++n)
    table_.retire_one(n, durable, retired_);
  table_.drop_front(below);
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "wal/segments/segment_retention.h"

#include <algorithm>

#include "core/base/check.h"

namespace pawl {

void SegmentRetention::keep(Instant since, std::uint64_t number) {
  const std::uint64_t tail = table_.tail();
  const std::uint64_t least = tail - std::min(tail, segments_max);
  kept_since_ = std::max({kept_since_, table_.first(), least});
  while (kept_since_ < tail && table_.begun(kept_since_ + 1) < since) ++kept_since_;
  CHECK(kept_since_ <= tail, "segment {}, the tail in {}", kept_since_, tail);
  kept_from_ = std::min(std::max(number, least), since == never ? UINT64_MAX : kept_since_);
  CHECK(kept_from_ >= least, "segment {} of {}", kept_from_, least);
}

std::uint64_t SegmentRetention::first_since(Instant since) const {
  std::uint64_t n = table_.first();
  while (n < table_.tail() && table_.begun(n + 1) < since) ++n;
  return n;
}

std::uint64_t SegmentRetention::first_after(Instant at) const {
  std::uint64_t n = table_.tail() + 1;
  while (n > table_.first() && table_.begun(n - 1) > at) --n;
  return n;
}

std::uint64_t SegmentRetention::bytes(std::uint64_t below) const {
  CHECK(below <= table_.ready_end(), "segment {} of {}", below, table_.ready_end());
  std::uint64_t bytes = 0;
  for (std::uint64_t n = std::max(table_.first(), kept_from_); n < below; ++n)
    bytes += table_.is_empty(n) ? table_.usable_bytes(n) : 0;
  return bytes;
}

}  // namespace pawl

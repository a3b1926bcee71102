// SPDX-License-Identifier: Apache-2.0
#include "wal/segment_demand.h"

#include "core/check.h"

namespace pawl {

void SegmentDemand::want(std::uint64_t bytes, Lsn end) {
  CHECK(end_ == UINT64_MAX || end >= end_, "the end goes from {} to {}", end_, end);
  end_ = end;
  wanted_bytes_ = bytes;
}

void SegmentDemand::note_tail(Instant now) {
  if (table_.tail() != rested_in_) {
    rested_in_ = table_.tail();
    shrink_at_ = now + rest_after;
    shrinks_ = false;
  } else if (now >= shrink_at_) {
    shrink_at_ = now + shrink_every;
    shrinks_ = true;
    grows_ = false;
  }
}

std::uint64_t SegmentDemand::free_space_behind(Lsn end) const {
  const std::uint64_t next = table_.next_is_filled() ? table_.next_usable() : 0;
  const std::uint64_t coming = retired_.filled() * geometry_.segment_bytes + next;
  if (table_.tail() < table_.ready_end())
    return table_.rest_of_tail(end) + table_.spare_usable() + coming;
  const std::uint64_t taken = table_.between(geometry_.segment_base(table_.ready_end()), end);
  return coming - std::min(coming, taken);
}

std::uint64_t SegmentDemand::small_usable_bytes() const {
  if (!small_segments_) return geometry_.segment_bytes;
  const std::uint64_t quarter = geometry_.segment_bytes / 4;
  const std::uint64_t bytes =
      std::max(geometry_.extent_bytes, quarter - quarter % geometry_.extent_bytes);
  CHECK(bytes % geometry_.extent_bytes == 0 && bytes <= geometry_.segment_bytes, "{}", bytes);
  return bytes;
}

// If the tail has entered the next segment, it contains frames already. They were placed without
// regard to a small size.
std::uint64_t SegmentDemand::next_usable_bytes() const {
  const bool small =
      table_.ready_end() > table_.tail() && table_.spare_usable() < geometry_.segment_bytes / 2;
  return small || table_.files() == 0 ? small_usable_bytes() : geometry_.segment_bytes;
}

// Wanted files, ready or retired, while the log grows.
std::uint64_t SegmentDemand::wanted_files() const {
  return std::max(spares_,
                  1 + (wanted_bytes_ + geometry_.segment_bytes - 1) / geometry_.segment_bytes);
}

// Wanted retired files while the log rests.
std::uint64_t SegmentDemand::retired_wanted() const {
  const std::uint64_t wanted = wanted_bytes_ + most_beyond();
  const std::uint64_t there =
      table_.tail() < table_.ready_end() ? table_.rest_of_tail(end_) + table_.spare_usable() : 0;
  const std::uint64_t missing = wanted - std::min(wanted, there);
  return (missing + geometry_.segment_bytes - 1) / geometry_.segment_bytes;
}

bool SegmentDemand::too_many_spares() const {
  if (grows_ || table_.spares() == 0) return false;
  return free_space_behind(end_) >=
         wanted_bytes_ + most_beyond() + table_.usable_bytes(table_.ready_end() - 1);
}

bool SegmentDemand::enough() const {
  if (!grows_) return free_space_behind(end_) >= wanted_bytes_ + least_beyond();
  const std::uint64_t retired = retired_.filled() * geometry_.segment_bytes;
  return table_.spare_usable() >= spares_ * geometry_.segment_bytes &&
         table_.spare_usable() + retired >= wanted_files() * geometry_.segment_bytes;
}

bool SegmentDemand::is_urgent() const {
  return end_ != UINT64_MAX && free_space_behind(end_) < wanted_bytes_ + least_beyond();
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "wal/segments/segment_demand.h"

#include "core/base/check.h"

namespace pawl {

void SegmentDemand::want(std::uint64_t bytes, Lsn end) {
  CHECK(end_ == UINT64_MAX || end >= end_, "the end goes from {} to {}", end_, end);
  end_ = end;
  wanted_bytes_ = bytes;
}

void SegmentDemand::ask(std::uint64_t bytes) {
  if (MUTANT(forget_asked_space)) return;
  CHECK(bytes > 0, "a request for no space");
  asked_ = std::max(asked_, bytes);
  rested_in_ = UINT64_MAX;
  noted_ = {};
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
    asked_ = 0;
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
  const std::uint64_t missing = wanted - std::min(wanted, ready_space());
  return (missing + geometry_.segment_bytes - 1) / geometry_.segment_bytes;
}

bool SegmentDemand::too_many_spares() const {
  if (grows_ || table_.spares() == 0) return false;
  return free_space_behind(end_) >=
         wanted_bytes_ + most_beyond() + table_.usable_bytes(table_.ready_end() - 1);
}

bool SegmentDemand::enough() const {
  if (owes()) return false;
  if (!grows_) return free_space_behind(end_) >= wanted_bytes_ + least_beyond();
  const std::uint64_t retired = retired_.filled() * geometry_.segment_bytes;
  return table_.spare_usable() >= spares_ * geometry_.segment_bytes &&
         table_.spare_usable() + retired >= wanted_files() * geometry_.segment_bytes;
}

// While the log grows, only the number of wanted files counts. At rest, appended bytes and further
// wanted bytes use the same free space, and a file that is too many goes at shrink_at_ only.
void SegmentDemand::note_satisfied() {
  CHECK(enough(), "a segment is wanted");
  if (end_ == UINT64_MAX) return;
  const std::uint64_t segment = geometry_.segment_bytes;
  const auto above = [](std::uint64_t bytes, std::uint64_t less) {
    return bytes >= less ? bytes - less + 1 : 0;
  };
  noted_ = {.tail = table_.tail(),
            .ready_end = table_.ready_end(),
            .retired = retired_.size(),
            .wanted_max = UINT64_MAX,
            .sum_max = UINT64_MAX,
            .shrink = next_shrink()};
  if (grows_) {
    noted_.wanted_max = (table_.spare_usable() / segment + retired_.filled() - 1) * segment;
    if (asked_ > 0) noted_.sum_max = end_ + free_space_behind(end_) - asked_;
  } else {
    noted_.sum_max = end_ + free_space_behind(end_) - least_beyond();
    if (table_.spares() > 0) {
      const std::uint64_t last = table_.usable_bytes(table_.ready_end() - 1);
      noted_.wanted_min = above(free_space_behind(end_), most_beyond() + last);
    }
  }
  if (!retired_.empty())
    noted_.wanted_min = std::max(
        noted_.wanted_min, above((retired_.size() - 1) * segment + ready_space(), most_beyond()));
  if (!shrinks_ && noted_.shrink != never) noted_.wanted_min = 0;
  if (retired_.size() > spares_)
    noted_.wanted_min = std::max(noted_.wanted_min, above(retired_.size() * segment, 2 * segment));
  CHECK(satisfied(), "{} wanted of {} to {}, the end at {}", wanted_bytes_, noted_.wanted_min,
        noted_.wanted_max, end_);
}

// The limits of is_urgent().
bool SegmentDemand::note_calm() {
  CHECK(!is_urgent(), "requests would soon wait for free space");
  if (end_ == UINT64_MAX) return false;
  noted_ = {.tail = table_.tail(),
            .ready_end = table_.ready_end(),
            .retired = retired_.size(),
            .wanted_max = UINT64_MAX,
            .sum_max = end_ + free_space_behind(end_) - least_beyond(),
            .end_max = end_ + ready_space() - least_beyond()};
  CHECK(satisfied(), "{} wanted, the end at {} of {}", wanted_bytes_, end_, noted_.end_max);
  return true;
}

void SegmentDemand::narrow(UpkeepBounds& bounds, const ReserveRule& reserve) const {
  if (MUTANT(rest_forever)) return;
  constexpr std::uint64_t each = UpkeepBounds::message_bytes;
  CHECK(reserve.least <= reserve.most, "{} of {} bytes", reserve.least, reserve.most);
  CHECK(wanted_bytes_ >= reserve.least && wanted_bytes_ <= reserve.most, "{} bytes", wanted_bytes_);
  if (noted_.end_max != UINT64_MAX) bounds.end_before(noted_.end_max + 1);
  // With so many messages or more, the reserve no longer grows.
  const std::uint64_t many = (reserve.most - reserve.least + each - 1) / each;
  if (wanted_bytes_ == reserve.most) {
    bounds.messages_min = std::max(bounds.messages_min, many);
    if (noted_.sum_max != UINT64_MAX) bounds.end_before(noted_.sum_max - reserve.most + 1);
    return;
  }
  bounds.messages_max = std::min(bounds.messages_max, many);
  if (noted_.wanted_min > reserve.least)
    bounds.messages_min =
        std::max(bounds.messages_min, (noted_.wanted_min - reserve.least + each - 1) / each);
  if (noted_.wanted_max < reserve.most)
    bounds.messages_max = std::min(bounds.messages_max, (noted_.wanted_max - reserve.least) / each);
  if (noted_.sum_max != UINT64_MAX)
    bounds.sum_max = std::min(bounds.sum_max, noted_.sum_max - reserve.least);
}

// A retired file is free space, but it is ready only after the segment that is being made.
bool SegmentDemand::is_urgent() const {
  if (end_ == UINT64_MAX) return false;
  return ready_space() < least_beyond() || free_space_behind(end_) < wanted_bytes_ + least_beyond();
}

}  // namespace pawl

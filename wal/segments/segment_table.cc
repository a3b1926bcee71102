// SPDX-License-Identifier: Apache-2.0
#include "wal/segments/segment_table.h"

#include <utility>

#include "core/base/check.h"

namespace pawl {

void SegmentTable::check_marks() const {
  CHECK(first_ <= tail_, "the first segment is {}, the tail in {}", first_, tail_);
  CHECK(first_ <= ready_end_, "the first segment is {}, ready to {}", first_, ready_end_);
  CHECK(files_ <= ready_end_ - first_, "{} files from {} to {}", files_, first_, ready_end_);
  CHECK(spare_usable_ <= files_usable_, "{} of {}", spare_usable_, files_usable_);
}

SegmentTable::Row& SegmentTable::make_row(std::uint64_t number) {
  for (; first_ > number; --first_) rows_.push_front({});  // only during recovery
  while (first_ + rows_.size() <= number) rows_.push_back({});
  return rows_[number - first_];
}

void SegmentTable::adopt(std::uint64_t number, FileId file, std::uint64_t usable,
                         std::uint64_t zeros, Instant begun) {
  CHECK(number >= ready_end_, "segment {} after {}", number, ready_end_);
  CHECK(file != FileId::none, "segment {} without a file", number);
  CHECK(usable > 0 && usable <= geometry_.segment_bytes && usable % geometry_.extent_bytes == 0,
        "{}", usable);
  Row& r = row(number);
  CHECK(r.file == FileId::none, "segment {} has a file", number);
  r.file = file;
  r.usable = usable;
  r.zeros = zeros;
  files_usable_ += usable;
  if (number > tail_) spare_usable_ += usable;
  if (begun.ms != 0) r.begun = begun;  // the tail may have entered it before
  ready_end_ = number + 1;
  ++files_;
}

// Times are those of the segments' first frames. A segment without a time gets the next one's. A
// wrong time keeps the segments around it longer, never shorter.
void SegmentTable::adopted(Instant newest) {
  Instant next = newest;
  for (std::uint64_t n = first_ + rows_.size(); n-- > first_; next = row(n).begun)
    if (row(n).begun.ms == 0) row(n).begun = next;
  Instant before;
  for (std::uint64_t n = first_; n < first_ + rows_.size(); ++n)
    before = row(n).begun = std::clamp(row(n).begun, std::min(before, newest), newest);
}

void SegmentTable::close_all(Disk& disk) {
  for (; !rows_.empty(); rows_.pop_front()) {
    if (rows_.front().file != FileId::none) disk.close(rows_.front().file);
  }
}

FileId SegmentTable::file(std::uint64_t number) const {
  CHECK(ready(number), "segment {} of {} to {}", number, first_, ready_end_);
  return row(number).file;
}

std::uint64_t SegmentTable::first_missing() const {
  for (std::uint64_t n = first_; n < ready_end_; ++n) {
    if (row(n).live > 0 && row(n).file == FileId::none) return n;
  }
  return ready_end_;
}

std::uint64_t SegmentTable::between(Lsn from, Lsn to) const {
  const std::uint64_t first = geometry_.segment_of(from), last = geometry_.segment_of(to);
  const auto used = [this](Lsn lsn) {
    return std::min(geometry_.offset_of(lsn), usable_bytes(geometry_.segment_of(lsn)));
  };
  std::uint64_t bytes = used(to);
  for (std::uint64_t n = first; n < last; ++n) bytes += usable_bytes(n);
  return bytes - std::min(bytes, used(from));
}

// --- the tail and the messages ---

void SegmentTable::enter(std::uint64_t number) {
  CHECK(number >= first_, "segment {} before {}", number, first_);
  CHECK(number >= tail_, "the tail goes from segment {} to {}", tail_, number);
  tail_ = number;
  spare_usable_ = 0;
  for (std::uint64_t n = number + 1; n < ready_end_; ++n) spare_usable_ += usable_bytes(n);
  CHECK(spare_usable_ <= files_usable_, "{} of {}", spare_usable_, files_usable_);
}

void SegmentTable::enter(std::uint64_t number, Instant since) {
  enter(number);
  row(number).begun = since;
}

void SegmentTable::add_live(std::uint64_t number) {
  ++row(number).live;
  ++live_;
}

void SegmentTable::add_send(std::uint64_t number, std::uint64_t bytes, bool relocated) {
  add_live(number);
  Row& r = row(number);
  ++r.sends;
  if (relocated) ++r.moved;
  CHECK(r.moved <= r.sends, "segment {}: {} relocated of {}", number, r.moved, r.sends);
  r.bytes += bytes;
}

void SegmentTable::release(std::uint64_t number, Lsn lsn) {
  CHECK(number >= first_, "segment {} before {}", number, first_);
  Row& r = row(number);
  CHECK(r.live > 0, "segment {} has no message", number);
  CHECK(live_ > 0, "no message is left");
  r.emptied = std::max(r.emptied, lsn);
  --live_;
  ++released_;
  if (--r.live > 0) return;
  looked_below_ = std::min(looked_below_, number);
}

// --- zeros ---

std::uint64_t SegmentTable::first_unfilled_spare() const {
  for (std::uint64_t n = tail_ + 1; n < ready_end_; ++n) {
    const Row& r = row(n);
    if (r.file != FileId::none && r.zeros < r.usable) return n;
  }
  return ready_end_;
}

void SegmentTable::begin_filling(std::uint64_t number) {
  CHECK(filling_ == UINT64_MAX, "segment {} is being filled", filling_);
  CHECK(number > tail_ && has_file(number), "segment {}, the tail in {}", number, tail_);
  filling_ = number;
}

void SegmentTable::end_filling(std::uint64_t zeros) {
  CHECK(has_file(filling_), "segment {} has no file", filling_);
  Row& r = row(std::exchange(filling_, UINT64_MAX));
  CHECK(zeros > r.zeros && zeros <= r.usable, "{} after {} of {}", zeros, r.zeros, r.usable);
  r.zeros = zeros;
}

// --- retiring ---

void SegmentTable::retire(std::uint64_t below, Lsn durable, RetiredFiles& retired) {
  CHECK(below <= tail_, "below {}, the tail in {}", below, tail_);
  std::uint64_t waits = below;  // the first segment that is empty, but not durably
  for (std::uint64_t n = std::max(looked_below_, first_); n < below; ++n)
    if (!retire_one(n, durable, retired)) waits = std::min(waits, n);
  looked_below_ = waits;
}

bool SegmentTable::retire_one(std::uint64_t number, Lsn durable, RetiredFiles& retired) {
  CHECK(number < tail_, "segment {}, the tail in {}", number, tail_);
  Row& r = row(number);
  const bool needed = r.live > 0 && !MUTANT(reuse_segment_early);
  if (r.file == FileId::none || needed) return true;
  if (r.emptied > durable && !MUTANT(reclaim_before_durable)) return false;
  CHECK(files_ > 0 && files_usable_ >= r.usable, "{} files of {} bytes", files_, files_usable_);
  retired.add(
      {number, std::exchange(r.file, FileId::none), r.usable == geometry_.segment_bytes, r.usable});
  --files_;
  files_usable_ -= r.usable;
  return true;
}

void SegmentTable::drop_front(std::uint64_t below) {
  while (first_ < below && rows_.front().file == FileId::none && rows_.front().live == 0) {
    rows_.pop_front();
    ++first_;
  }
  check_marks();
}

// The last spare contains no frames.
FileId SegmentTable::drop_last_spare() {
  CHECK(ready_end_ > tail_ + 1, "ready to {}, the tail in {}", ready_end_, tail_);
  --ready_end_;
  Row& last = rows_.back();
  CHECK(first_ + rows_.size() == ready_end_ + 1, "{} rows from {}", rows_.size(), first_);
  CHECK(last.live == 0, "{} messages in a spare segment", last.live);
  CHECK(last.file != FileId::none && filling_ != ready_end_, "segment {}", ready_end_);
  CHECK(spare_usable_ >= last.usable, "{} of {}", last.usable, spare_usable_);
  const FileId file = last.file;
  --files_;
  files_usable_ -= last.usable;
  spare_usable_ -= last.usable;
  rows_.pop_back();
  check_marks();
  return file;
}

// --- live bytes ---

std::vector<SegmentRecord> SegmentTable::sent() const {
  std::vector<SegmentRecord> all;
  for (std::uint64_t n = first_; n < ready_end_; ++n) {
    const Row& r = row(n);
    if (r.live > 0 && r.sends > 0) all.push_back({n, r.sends, r.bytes});
  }
  return all;
}

void SegmentTable::restore(const SegmentRecord& record) {
  if (!ready(record.number)) return;  // retired since
  Row& r = row(record.number);
  r.sends = record.sends;
  r.bytes = std::min(record.bytes, r.usable);
}

SegmentTable::Use SegmentTable::use(std::uint64_t below, std::uint64_t in_log) const {
  Use use{.emptiest = ready_end_, .left = UINT64_MAX, .oldest = ready_end_};
  for (std::uint64_t n = first_; n < ready_end_ && n <= tail_; ++n) {
    const Row& r = row(n);
    if (r.file == FileId::none || (n >= below && n < in_log)) continue;
    use.bytes += r.usable;
    if (r.live == 0) continue;
    const std::uint64_t left = left_in(r);
    use.live += left;
    if (n >= below || r.tried) continue;
    use.oldest = std::min(use.oldest, n);
    if (left >= use.left || packed(r)) continue;
    use.left = left;
    use.usable_bytes = r.usable;
    use.emptiest = n;
  }
  return use;
}

void SegmentTable::begin_emptying(std::uint64_t number) {
  Row& r = row(number);
  CHECK(!r.tried, "segment {} was emptied before", number);
  CHECK(r.file != FileId::none && r.live > 0, "segment {} has {} messages", number, r.live);
  CHECK(number < tail_, "segment {}, the tail in {}", number, tail_);
  r.tried = true;
  add_live(number);
}

}  // namespace pawl

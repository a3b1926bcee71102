// SPDX-License-Identifier: Apache-2.0
#include "wal/segment_pool.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "core/check.h"
#include "core/mutant.h"

namespace pawl {
namespace {

// Zeros to fill new files, shared by all shards. Not const: a constant would be stored in the
// executable.
alignas(block_bytes) std::array<std::byte, SegmentPool::fill_bytes_max> zeros;

}  // namespace

bool disk_is_full(int sys) { return sys == ENOSPC || sys == EDQUOT; }
bool file_is_refused(int sys) {
  return disk_is_full(sys) || sys == EMFILE || sys == ENFILE || sys == ENOMEM;
}

SegmentPool::SegmentPool(Disk& disk, const Geometry& geometry, std::uint32_t spares,
                         bool small_segments, Duration fill_every)
    : disk_(disk),
      geometry_(geometry),
      small_segments_(small_segments),
      fill_every_(fill_every),
      spares_(spares),
      header_(block_bytes) {
  retired_.reserve(64);
}

SegmentPool::~SegmentPool() {
  for (; !rows_.empty(); rows_.pop_front()) {
    if (rows_.front().file != FileId::none) disk_.close(rows_.front().file);
  }
  for (const Retired& retired : retired_) disk_.close(retired.file);
  if (making_ != FileId::none) disk_.close(making_);
}

void SegmentPool::adopt_retired(std::uint64_t number, FileId file, bool filled) {
  add_retired({number, file, filled, geometry_.segment_bytes});
}

void SegmentPool::add_retired(const Retired& retired) {
  retired_.push_back(retired);
  filled_ += retired.filled ? 1 : 0;
}

SegmentPool::Retired SegmentPool::take_retired(std::size_t i) {
  const Retired taken = retired_[i];
  retired_.erase(retired_.begin() + static_cast<std::ptrdiff_t>(i));
  filled_ -= taken.filled ? 1 : 0;
  return taken;
}

SegmentPool::Row& SegmentPool::make_row(std::uint64_t number) {
  for (; first_ > number; --first_) rows_.push_front({});  // only during recovery
  while (first_ + rows_.size() <= number) rows_.push_back({});
  return rows_[number - first_];
}

void SegmentPool::adopt(std::uint64_t number, FileId file, std::uint64_t usable, Instant begun) {
  CHECK(number >= ready_end_, "segment {} after {}", number, ready_end_);
  CHECK(usable > 0 && usable <= geometry_.segment_bytes && usable % geometry_.extent_bytes == 0,
        "{}", usable);
  row(number).file = file;
  row(number).usable = row(number).zeros = usable;
  files_usable_ += usable;
  if (number > tail_) spare_usable_ += usable;
  if (begun.ms != 0) row(number).begun = begun;  // the tail may have entered it before
  ready_end_ = number + 1;
  ++files_;
}

FileId SegmentPool::file(std::uint64_t number) const {
  CHECK(ready(number), "segment {} of {} to {}", number, first_, ready_end_);
  return row(number).file;
}

void SegmentPool::adopt_set_aside(std::uint64_t number) {
  ++set_aside_;
  next_aside_ = std::max(next_aside_, number + 1);
}

void SegmentPool::want_ahead(std::uint64_t bytes, Lsn end) {
  end_ = end;
  wanted_bytes_ = bytes;
}

void SegmentPool::enter(std::uint64_t number) {
  tail_ = number;
  spare_usable_ = 0;
  for (std::uint64_t n = number + 1; n < ready_end_; ++n) spare_usable_ += usable_bytes(n);
}

void SegmentPool::enter(std::uint64_t number, Instant since) {
  enter(number);
  row(number).begun = since;
  grows_ = true;
}

// --- free space and wanted space ---

std::uint64_t SegmentPool::between(Lsn from, Lsn to) const {
  const std::uint64_t first = geometry_.segment_of(from), last = geometry_.segment_of(to);
  const auto used = [this](Lsn lsn) {
    return std::min(geometry_.offset_of(lsn), usable_bytes(geometry_.segment_of(lsn)));
  };
  std::uint64_t bytes = used(to);
  for (std::uint64_t n = first; n < last; ++n) bytes += usable_bytes(n);
  return bytes - std::min(bytes, used(from));
}

std::uint64_t SegmentPool::free_space_behind(Lsn end) const {
  const bool nearly = step_ == Step::header || step_ == Step::dir_sync;
  const std::uint64_t coming = filled_ * geometry_.segment_bytes + (nearly ? making_usable_ : 0);
  if (tail_ < ready_end_) return rest_of_tail(end) + spare_usable_ + coming;
  const std::uint64_t taken = between(geometry_.segment_base(ready_end_), end);
  return coming - std::min(coming, taken);
}

// Free space in the segment of the tail.
std::uint64_t SegmentPool::rest_of_tail(Lsn end) const {
  const Lsn end_of_tail = geometry_.segment_base(tail_) + usable_bytes(tail_);
  return end_of_tail - std::min(end_of_tail, end);
}

std::uint64_t SegmentPool::bytes() const {
  std::uint64_t bytes = files_usable_ + (making_ != FileId::none ? making_usable_ : 0);
  for (const Retired& retired : retired_) bytes += retired.bytes;
  return bytes;
}

// If the tail has entered the next segment, it contains frames already. They were placed without
// regard to a small size.
std::uint64_t SegmentPool::choose_usable_bytes() const {
  const bool small = ready_end_ > tail_ && spare_usable_ < geometry_.segment_bytes / 2;
  return small || files_ == 0 ? small_usable_bytes() : geometry_.segment_bytes;
}

// Wanted files, ready or retired, while the log grows.
std::uint64_t SegmentPool::wanted_files() const {
  return std::max(spares_,
                  1 + (wanted_bytes_ + geometry_.segment_bytes - 1) / geometry_.segment_bytes);
}

// Wanted retired files while the log rests.
std::uint64_t SegmentPool::retired_wanted() const {
  const std::uint64_t wanted = wanted_bytes_ + most_beyond();
  const std::uint64_t there = tail_ < ready_end_ ? rest_of_tail(end_) + spare_usable_ : 0;
  const std::uint64_t missing = wanted - std::min(wanted, there);
  return (missing + geometry_.segment_bytes - 1) / geometry_.segment_bytes;
}

bool SegmentPool::too_many_spares() const {
  if (grows_ || spares() == 0) return false;
  return free_space_behind(end_) >= wanted_bytes_ + most_beyond() + usable_bytes(ready_end_ - 1);
}

bool SegmentPool::enough() const {
  if (!grows_) return free_space_behind(end_) >= wanted_bytes_ + least_beyond();
  const std::uint64_t retired = filled_ * geometry_.segment_bytes;
  return spare_usable_ >= spares_ * geometry_.segment_bytes &&
         spare_usable_ + retired >= wanted_files() * geometry_.segment_bytes;
}

void SegmentPool::add_live(std::uint64_t number) {
  ++row(number).live;
  ++live_;
}

void SegmentPool::add_send(std::uint64_t number, std::uint64_t bytes, bool relocated) {
  add_live(number);
  Row& r = row(number);
  ++r.sends;
  if (relocated) ++r.moved;
  r.bytes += bytes;
}

std::vector<SegmentRecord> SegmentPool::sent() const {
  std::vector<SegmentRecord> all;
  for (std::uint64_t n = first_; n < ready_end_; ++n) {
    const Row& r = row(n);
    if (r.live > 0 && r.sends > 0) all.push_back({n, r.sends, r.bytes});
  }
  return all;
}

void SegmentPool::restore(const SegmentRecord& record) {
  if (!ready(record.number)) return;  // retired since
  Row& r = row(record.number);
  r.sends = record.sends;
  r.bytes = std::min(record.bytes, r.usable);
}

SegmentPool::Use SegmentPool::use(std::uint64_t below, std::uint64_t in_log) const {
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

void SegmentPool::begin_emptying(std::uint64_t number) {
  row(number).tried = true;
  add_live(number);
}

void SegmentPool::release(std::uint64_t number, Lsn lsn) {
  Row& r = row(number);
  CHECK(r.live > 0, "segment {} has no message", number);
  r.emptied = std::max(r.emptied, lsn);
  --live_;
  if (--r.live > 0) return;
  looked_below_ = std::min(looked_below_, number);
}

void SegmentPool::retire(std::uint64_t below, Lsn durable) {
  CHECK(below <= tail_ && below <= ready_end_, "{} of {}", below, tail_);
  const std::uint64_t kept = std::min(below, kept_from_);
  std::uint64_t waits = kept;  // the first segment that is empty, but not durably
  for (std::uint64_t n = std::max(looked_below_, first_); n < kept; ++n)
    if (!let_go(n, durable)) waits = std::min(waits, n);
  looked_below_ = waits;
  // On a full disk, segments kept only for replay are retired, the oldest first.
  for (std::uint64_t n = std::max(kept_from_, first_); disk_full_ && filled_ == 0 && n < below; ++n)
    let_go(n, durable);
  while (first_ < below && rows_.front().file == FileId::none && rows_.front().live == 0) {
    rows_.pop_front();
    ++first_;
  }
}

// Retires a segment that is not needed. False: it is not needed, but not durably yet.
bool SegmentPool::let_go(std::uint64_t number, Lsn durable) {
  Row& r = row(number);
  const bool needed = r.live > 0 && !MUTANT(reuse_segment_early);
  if (r.file == FileId::none || needed) return true;
  if (r.emptied > durable && !MUTANT(reclaim_before_durable)) return false;
  add_retired(
      {number, std::exchange(r.file, FileId::none), r.usable == geometry_.segment_bytes, r.usable});
  --files_;
  files_usable_ -= r.usable;
  return true;
}

// Times are those of the segments' first frames. A segment without a time gets the next one's. A
// wrong time keeps the segments around it longer, never shorter.
void SegmentPool::adopted(Instant newest) {
  Instant next = newest;
  for (std::uint64_t n = first_ + rows_.size(); n-- > first_; next = row(n).begun)
    if (row(n).begun.ms == 0) row(n).begun = next;
  Instant before;
  for (std::uint64_t n = first_; n < first_ + rows_.size(); ++n)
    before = row(n).begun = std::clamp(row(n).begun, std::min(before, newest), newest);
}

// A segment lies before `since` if the next one was begun before it.
void SegmentPool::keep_for_replay(Instant since, std::uint64_t number) {
  const std::uint64_t least = tail_ - std::min(tail_, replay_segments_max);
  kept_since_ = std::max({kept_since_, first_, least});
  while (kept_since_ < tail_ && row(kept_since_ + 1).begun < since) ++kept_since_;
  kept_from_ = std::min(std::max(number, least), since == never ? UINT64_MAX : kept_since_);
}

std::uint64_t SegmentPool::first_since(Instant since) const {
  std::uint64_t n = first_;
  while (n < tail_ && row(n + 1).begun < since) ++n;
  return n;
}

std::uint64_t SegmentPool::first_after(Instant at) const {
  std::uint64_t n = tail_ + 1;
  while (n > first_ && row(n - 1).begun > at) --n;
  return n;
}

std::uint64_t SegmentPool::bytes_for_replay(std::uint64_t below) const {
  std::uint64_t bytes = 0;
  for (std::uint64_t n = std::max(first_, kept_from_); n < below; ++n)
    bytes += row(n).file != FileId::none && row(n).live == 0 ? row(n).usable : 0;
  return bytes;
}

std::uint64_t SegmentPool::first_missing() const {
  for (std::uint64_t n = first_; n < ready_end_; ++n) {
    if (row(n).live > 0 && row(n).file == FileId::none) return n;
  }
  return ready_end_;
}

Result<void> SegmentPool::pump(Instant now, bool stopping) {
  if (io_.armed) return {};
  if (io_.done) {
    if (auto ended = end_step(now, std::exchange(io_, {}).result); !ended) return ended;
  }
  if (stopping) return {};
  note_rest(now);
  const bool needs_no_space = step_ == Step::begin && filled_ > 0;
  if (retry_at_ != never && now < retry_at_ && !needs_no_space) return {};
  retry_at_ = fill_due_ = never;
  const bool filling = step_ == Step::allocate || step_ == Step::fill;
  if (filling && disk_full_ && !give_back_space(now)) return {};
  const bool urgent = is_urgent();
  if (urgent && step_ == Step::fill && allocated_ && !disk_full_)
    filled_bytes_ = std::max(filled_bytes_, making_usable_);
  if (!urgent && step_ == Step::fill && fill_waits(now)) return {};
  if (!urgent && step_ == Step::none) begin_top_up(now);
  if (step_ == Step::none) {
    if (enough() || removing_) {
      trim();
      return {};
    }
    step_ = Step::begin;
  }
  return issue(now);
}

void SegmentPool::note_rest(Instant now) {
  if (tail_ != rested_in_) {
    rested_in_ = tail_;
    shrink_at_ = now + rest_after;
    shrinks_ = false;
  } else if (now >= shrink_at_) {
    shrink_at_ = now + shrink_every;
    shrinks_ = true;
    grows_ = false;
  }
}

Result<void> SegmentPool::end_step(Instant now, std::int32_t result) {
  if (step_ == Step::remove) {
    step_ = Step::none;
    if (result != 0) {
      retry_at_ = now + retry_after;
      return {};
    }
    removing_.reset();
    // After a crash, no spare may reappear without the one before it.
    if (std::exchange(removes_spare_, false) && !MUTANT(forget_directory_sync))
      step_ = Step::remove_sync;
    return {};
  }
  if (step_ == Step::top_up) {
    end_top_up(result);
    return {};
  }
  if (result < 0) return step_failed(now, -result);
  tried_again_ = false;
  switch (step_) {
    case Step::allocate:
      allocated_ = true;
      step_ = Step::fill;
      break;
    case Step::fill:
      if (filled_bytes_ < making_usable_) zeros_end_ = fill_piece().next;
      filled_bytes_ = fill_piece().next;
      if (filled_bytes_ == geometry_.segment_bytes) step_ = Step::header;
      break;
    case Step::header:
      step_ = Step::dir_sync;
      if (MUTANT(forget_directory_sync)) made();
      break;
    case Step::dir_sync:
      made();
      break;
    case Step::remove_sync:
      step_ = Step::none;
      break;
    case Step::none:
    case Step::begin:
    case Step::remove:
    case Step::top_up:
      CHECK(false, "nothing was under way");
  }
  return {};
}

Result<void> SegmentPool::step_failed(Instant now, int sys) {
  if (step_ == Step::dir_sync || step_ == Step::remove_sync)
    return fail(Errc::io, "new segment", sys);
  if (step_ == Step::allocate && (sys == EOPNOTSUPP || sys == ENOSYS)) {
    can_allocate_ = false;
    step_ = Step::fill;
    return {};
  }
  if (file_is_refused(sys)) {
    retry_later(now);
    return {};
  }
  // A short write does not report its reason; the next write does.
  if (step_ == Step::fill && !std::exchange(tried_again_, true)) return {};
  return set_file_aside(sys);
}

Result<void> SegmentPool::set_file_aside(int sys) {
  if (set_aside_ >= set_aside_max) return fail(Errc::io, "new segment", sys);
  const std::string name = set_aside_name(next_aside_);
  if (auto renamed = disk_.rename(segment_name(ready_end()), name); !renamed) return renamed;
  disk_.close(std::exchange(making_, FileId::none));
  adopt_set_aside(next_aside_);
  set_aside_errno_ = sys;
  tried_again_ = false;
  step_ = Step::begin;
  return {};
}

// True: a request of the largest size would wait for space.
bool SegmentPool::is_urgent() const {
  return end_ != UINT64_MAX && free_space_behind(end_) < wanted_bytes_ + least_beyond();
}

// True: filling waits, so that the tail has the disk most of the time.
bool SegmentPool::fill_waits(Instant now) {
  if (now >= next_fill_at_) return false;
  fill_due_ = next_fill_at_;
  return true;
}

// Writes zeros to the first spare that is not filled. The tail does not enter it meanwhile: ready()
// is false.
void SegmentPool::begin_top_up(Instant now) {
  for (std::uint64_t n = tail_ + 1; n < ready_end_; ++n) {
    const Row& r = row(n);
    if (r.file == FileId::none || r.zeros >= r.usable) continue;
    if (fill_waits(now)) return;
    step_ = Step::top_up;
    topped_up_ = n;
    return;
  }
}

// After an error the rest stays without zeros: its space is allocated, and the log's own write
// meets the error.
void SegmentPool::end_top_up(std::int32_t result) {
  Row& r = row(std::exchange(topped_up_, UINT64_MAX));
  r.zeros = result < 0 ? r.usable : next_zeros(r.zeros, r.usable).next;
  step_ = Step::none;
}

// A new file without space is deleted in favour of a filled retired one, which needs no space.
// Without one, unfilled retired files are deleted in favour of the new file. False: the file cannot
// be deleted now.
bool SegmentPool::give_back_space(Instant now) {
  const bool gives_way = filled_ > 0;
  if (!gives_way && retired_.empty()) return true;
  const std::uint64_t number = gives_way ? ready_end() : retired_.back().number;
  if (!disk_.remove(segment_name(number))) {
    retry_later(now);
    return false;
  }
  if (!gives_way) {
    disk_.close(take_retired(retired_.size() - 1).file);
    return true;
  }
  disk_.close(std::exchange(making_, FileId::none));
  step_ = Step::begin;
  return true;
}

void SegmentPool::made() {
  adopt(ready_end_, making_, making_usable_);
  row(ready_end_ - 1).zeros = std::max<std::uint64_t>(zeros_end_, block_bytes);  // the header stays
  making_ = FileId::none;
  making_usable_ = 0;
  step_ = Step::none;
  disk_full_ = false;
}

Result<void> SegmentPool::issue(Instant now) {
  switch (step_) {
    case Step::none:
    case Step::remove:
      break;
    case Step::begin:
      return begin(now);
    case Step::allocate:
      disk_.allocate(making_, making_usable_, io_);
      break;
    case Step::fill:
      next_fill_at_ = now + fill_every_;
      disk_.write(making_, fill_piece().at, fill_piece().bytes,
                  MUTANT(header_before_fill) ? Flush::no : Flush::yes, io_);
      break;
    case Step::header:
      make_header();
      disk_.write(making_, 0, header_.span(), Flush::yes, io_);
      break;
    case Step::dir_sync:
    case Step::remove_sync:
      disk_.sync_dir(io_);
      break;
    case Step::top_up: {
      next_fill_at_ = now + fill_every_;
      const Row& r = row(topped_up_);
      const Piece piece = next_zeros(r.zeros, r.usable);
      disk_.write(r.file, piece.at, piece.bytes, Flush::yes, io_);
      break;
    }
  }
  return {};
}

// Names the file of the next segment: a renamed retired file, or a new one. Blocking, about 20 us.
Result<void> SegmentPool::begin(Instant now) {
  const std::string name = segment_name(ready_end());
  if (making_usable_ == 0)
    making_usable_ = filled_ > 0 ? geometry_.segment_bytes : choose_usable_bytes();
  const std::size_t i = choose_retired();
  if (i < retired_.size()) {
    if (retired_[i].number != ready_end()) {
      if (auto renamed = disk_.rename(segment_name(retired_[i].number), name); !renamed) {
        if (!disk_is_full(renamed.error().sys)) return renamed;
        retry_later(now);
        return {};
      }
    }
    const Retired from = take_retired(i);
    making_ = from.file;
    filled_bytes_ = from.filled ? geometry_.segment_bytes : 0;
  } else {
    const auto file = disk_.create(name);
    if (!file) {
      if (!file_is_refused(file.error().sys)) return std::unexpected(file.error());
      retry_later(now);
      return {};
    }
    making_ = *file;
    filled_bytes_ = 0;
  }
  allocated_ = false;
  zeros_end_ = filled_bytes_;
  step_ = filled_bytes_ == geometry_.segment_bytes ? Step::header
          : can_allocate_                          ? Step::allocate
                                                   : Step::fill;
  return issue(now);
}

// A retired file that already has the name must be chosen: a rename onto it would lose it.
std::size_t SegmentPool::choose_retired() const {
  for (std::size_t i = 0; i < retired_.size(); ++i) {
    if (retired_[i].number == ready_end()) return i;
  }
  const auto filled = std::ranges::find(retired_, true, &Retired::filled);
  return filled == retired_.end() ? 0 : static_cast<std::size_t>(filled - retired_.begin());
}

// Deletes files that the next segments will not need. A file is closed first: dropping its last
// reference waits until its space is freed, and the asynchronous delete does that.
void SegmentPool::trim() {
  if (!removing_) {
    if (too_many_retired()) {
      const Retired gone = take_retired(retired_.size() - 1);
      disk_.close(gone.file);
      removing_ = segment_name(gone.number);
    } else if (shrinks_ && too_many_spares()) {
      drop_last_spare();
    } else {
      return;
    }
    shrinks_ = false;
  }
  step_ = Step::remove;
  disk_.remove(*removing_, io_);
}

// The last spare contains no frames.
void SegmentPool::drop_last_spare() {
  --ready_end_;
  Row& last = rows_.back();
  CHECK(first_ + rows_.size() == ready_end_ + 1 && last.live == 0 && ready_end_ > tail_);
  disk_.close(last.file);
  --files_;
  files_usable_ -= last.usable;
  spare_usable_ -= last.usable;
  rows_.pop_back();
  removing_ = segment_name(ready_end_);
  removes_spare_ = true;
}

// Behind the space of a small segment only the last block is written: the file is full size.
SegmentPool::Piece SegmentPool::fill_piece() const {
  if (filled_bytes_ >= making_usable_) {
    const std::uint64_t at = geometry_.segment_bytes - block_bytes;
    return {at, std::span(zeros).first(block_bytes), geometry_.segment_bytes};
  }
  return next_zeros(filled_bytes_, making_usable_);
}

SegmentPool::Piece SegmentPool::next_zeros(std::uint64_t from, std::uint64_t end) const {
  const std::uint64_t most = std::min<std::uint64_t>(zeros.size(), geometry_.segment_bytes / 4);
  const std::uint64_t bytes = std::min(most, end - from);
  return {from, std::span(zeros).first(bytes), from + bytes};
}

void SegmentPool::make_header() {
  const std::uint64_t number = ready_end();
  const bool is_small = making_usable_ != geometry_.segment_bytes;
  write_segment_header(
      Block(header_.data(), block_bytes),
      {geometry_.stream, number, geometry_.segment_base(number), is_small ? making_usable_ : 0});
}

Result<void> SegmentPool::create_now() {
  const std::uint64_t number = ready_end();
  if (making_usable_ == 0) making_usable_ = choose_usable_bytes();
  for (;;) {
    const std::size_t i = choose_retired();
    if (i < retired_.size() && retired_[i].number == number) {
      making_ = take_retired(i).file;
    } else {
      const auto file = disk_.create(segment_name(number));
      if (!file) return std::unexpected(file.error());
      making_ = *file;
    }
    filled_bytes_ = 0;
    const auto filled = fill_now();
    if (filled) break;
    if (file_is_refused(filled.error().sys)) {
      add_retired({number, std::exchange(making_, FileId::none), false, filled_bytes_});
      return filled;
    }
    if (auto aside = set_file_aside(filled.error().sys); !aside) return aside;
  }
  if (auto synced = disk_.sync_dir_now(); !synced) return synced;
  zeros_end_ = making_usable_;
  made();
  return {};
}

Result<void> SegmentPool::fill_now() {
  for (; filled_bytes_ < geometry_.segment_bytes; filled_bytes_ = fill_piece().next) {
    if (auto written = disk_.write_now(making_, fill_piece().at, fill_piece().bytes); !written)
      return written;
  }
  if (auto synced = disk_.sync_now(making_); !synced) return synced;
  make_header();
  if (auto written = disk_.write_now(making_, 0, header_.span()); !written) return written;
  return disk_.sync_now(making_);
}

}  // namespace pawl

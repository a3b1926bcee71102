// SPDX-License-Identifier: Apache-2.0
#include "wal/segments/segment_maker.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "core/base/check.h"
#include "core/base/mutant.h"

namespace pawl {
namespace {

// Zeros to fill new files, shared by all shards. Not const: a constant would be stored in the
// executable.
alignas(block_bytes) std::array<std::byte, SegmentMaker::fill_bytes_max> zeros;

}  // namespace

bool disk_is_full(int sys) { return sys == ENOSPC || sys == EDQUOT; }
bool file_is_refused(int sys) {
  return disk_is_full(sys) || sys == EMFILE || sys == ENFILE || sys == ENOMEM;
}

SegmentMaker::SegmentMaker(Disk& disk, const Geometry& geometry, SegmentTable& table,
                           RetiredFiles& retired, SegmentDemand& demand, Duration fill_every,
                           bool flush_each_fill)
    : disk_(disk),
      geometry_(geometry),
      table_(table),
      retired_(retired),
      demand_(demand),
      fill_every_(fill_every),
      flush_each_fill_(flush_each_fill),
      header_(block_bytes) {}

SegmentMaker::~SegmentMaker() {
  if (making_ != FileId::none) disk_.close(making_);
}

// The transitions of the drawing in the header.
bool SegmentMaker::allowed(Step from, Step to) {
  const auto one_of = [to](auto... steps) { return ((to == steps) || ...); };
  switch (from) {
    case Step::none:
      return one_of(Step::begin, Step::top_up, Step::remove);
    case Step::begin:
      return one_of(Step::allocate, Step::fill, Step::header, Step::none);
    case Step::allocate:
      return one_of(Step::fill, Step::begin);
    case Step::fill:
      return one_of(Step::flush, Step::header, Step::begin);
    case Step::flush:
      return one_of(Step::header, Step::begin);
    case Step::header:
      return one_of(Step::dir_sync, Step::begin);
    case Step::dir_sync:
      return to == Step::none;
    case Step::remove:
      return one_of(Step::remove_sync, Step::none);
    case Step::remove_sync:
    case Step::top_up:
      return to == Step::none;
  }
  return false;
}

void SegmentMaker::change(Step next) {
  CHECK(allowed(step_, next), "from step {} to {}", static_cast<int>(step_),
        static_cast<int>(next));
  step_ = next;
  table_.set_next_filled(next == Step::header || next == Step::dir_sync);
}

void SegmentMaker::adopt_set_aside(std::uint64_t number) {
  ++set_aside_;
  next_aside_ = std::max(next_aside_, number + 1);
}

Instant SegmentMaker::next_due() const {
  if (rests_ && demand_.satisfied()) return std::min(fill_due_, demand_.noted_shrink());
  if (retry_at_ != never) return retry_at_;
  if (step_ != Step::none) return fill_due_;
  if (demand_.too_many_retired() || removing_) return Instant{0};
  return std::min(fill_due_, demand_.next_shrink());
}

bool SegmentMaker::has_work(Instant now, std::uint64_t wanted, Lsn end) const {
  if (io_.armed) return false;
  const bool fills = fill_due_ != never && end >= next_fill_end_;
  return !rests_ || !demand_.satisfied(wanted, end) || fills ||
         now >= std::min(fill_due_, demand_.next_look());
}

void SegmentMaker::narrow(UpkeepBounds& bounds, const ReserveRule& reserve) const {
  if (io_.armed) return;
  CHECK(rests_, "step {} has work", static_cast<int>(step_));
  demand_.narrow(bounds, reserve);
  bounds.due_at(std::min(fill_due_, demand_.next_look()));
  if (fill_due_ != never) bounds.end_before(next_fill_end_);
}

Result<void> SegmentMaker::pump(Instant now, bool stopping) {
  if (!has_work(now, demand_.wanted(), demand_.end())) return {};
  rests_ = false;
  if (io_.done) {
    if (auto ended = end_step(now, std::exchange(io_, {}).result); !ended) return ended;
  }
  if (stopping) return {};
  demand_.note_tail(now);
  const bool needs_no_space = step_ == Step::begin && retired_.filled() > 0;
  if (retry_at_ != never && now < retry_at_ && !needs_no_space) return {};
  retry_at_ = fill_due_ = never;
  const bool filling = step_ == Step::allocate || step_ == Step::fill;
  if (filling && disk_full_ && !delete_spare_file(now)) return {};
  const bool urgent = demand_.is_urgent();
  if (urgent && step_ == Step::fill && allocated_ && !disk_full_)
    filled_bytes_ = std::max(filled_bytes_, table_.next_usable());
  if (!urgent && step_ == Step::fill && fill_waits(now)) {
    rests_ = !disk_full_ && demand_.note_calm();
    return {};
  }
  if (!urgent && step_ == Step::none) begin_top_up(now);
  if (step_ == Step::none) {
    if (demand_.enough() || removing_) {
      trim();
      note_rest();
      return {};
    }
    change(Step::begin);
  }
  return issue(now);
}

void SegmentMaker::note_rest() {
  const bool fills = table_.first_unfilled_spare() != table_.ready_end();
  rests_ = step_ == Step::none && !removing_ && (fill_due_ != never || !fills);
  if (rests_) demand_.note_satisfied();
}

Result<void> SegmentMaker::end_step(Instant now, std::int32_t result) {
  if (step_ == Step::remove) {
    end_remove(now, result);
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
      change(Step::fill);
      break;
    case Step::fill:
      end_fill();
      break;
    case Step::flush:
      change(Step::header);
      break;
    case Step::header:
      change(Step::dir_sync);
      if (MUTANT(forget_directory_sync)) made();
      break;
    case Step::dir_sync:
      made();
      break;
    case Step::remove_sync:
      change(Step::none);
      break;
    case Step::none:
    case Step::begin:
    case Step::remove:
    case Step::top_up:
      CHECK(false, "nothing was under way");
  }
  return {};
}

void SegmentMaker::end_remove(Instant now, std::int32_t result) {
  CHECK(removing_.has_value());
  if (result != 0) {
    change(Step::none);
    retry_at_ = now + retry_after;
    return;
  }
  removing_.reset();
  // After a crash, no spare may reappear without the one before it.
  const bool syncs = std::exchange(removes_spare_, false) && !MUTANT(forget_directory_sync);
  change(syncs ? Step::remove_sync : Step::none);
}

void SegmentMaker::end_fill() {
  if (filled_bytes_ < table_.next_usable()) zeros_end_ = fill_piece().next;
  filled_bytes_ = fill_piece().next;
  CHECK(filled_bytes_ <= geometry_.segment_bytes, "{}", filled_bytes_);
  CHECK(zeros_end_ <= filled_bytes_, "zeros to {} of {}", zeros_end_, filled_bytes_);
  if (filled_bytes_ < geometry_.segment_bytes) return;
  change(flush_each_fill_ || MUTANT(header_before_fill) ? Step::header : Step::flush);
}

Result<void> SegmentMaker::step_failed(Instant now, int sys) {
  if (step_ == Step::dir_sync || step_ == Step::remove_sync)
    return fail(Errc::io, "new segment", sys);
  if (step_ == Step::allocate && (sys == EOPNOTSUPP || sys == ENOSYS)) {
    can_allocate_ = false;
    change(Step::fill);
    return {};
  }
  if (file_is_refused(sys)) {
    retry_later(now);
    return {};
  }
  // A short write does not report its reason; the next write does.
  if (step_ == Step::fill && !std::exchange(tried_again_, true)) return {};
  if (auto aside = set_file_aside(sys); !aside) return aside;
  change(Step::begin);
  return {};
}

Result<void> SegmentMaker::set_file_aside(int sys) {
  CHECK(making_ != FileId::none, "no file to set aside");
  if (set_aside_ >= set_aside_max) return fail(Errc::io, "new segment", sys);
  const std::string name = set_aside_name(next_aside_);
  if (auto renamed = disk_.rename(segment_name(table_.ready_end()), name); !renamed) return renamed;
  disk_.close(std::exchange(making_, FileId::none));
  adopt_set_aside(next_aside_);
  set_aside_errno_ = sys;
  tried_again_ = false;
  return {};
}

std::uint64_t SegmentMaker::piece_bytes() const {
  return std::min<std::uint64_t>(zeros.size(), geometry_.segment_bytes / 4);
}

void SegmentMaker::note_fill(Instant now) {
  CHECK(step_ == Step::fill || step_ == Step::top_up, "step {}", static_cast<int>(step_));
  CHECK(piece_bytes() % block_bytes == 0, "pieces of {} bytes", piece_bytes());
  next_fill_at_ = now + fill_every_;
  next_fill_end_ = demand_.end() + piece_bytes() / 8;
}

// True: filling waits, so that the tail has the disk most of the time.
bool SegmentMaker::fill_waits(Instant now) {
  if (now >= next_fill_at_ || demand_.end() >= next_fill_end_) return false;
  fill_due_ = next_fill_at_;
  return true;
}

// Writes zeros to the first spare that is not filled. The tail does not enter it meanwhile: ready()
// is false.
void SegmentMaker::begin_top_up(Instant now) {
  const std::uint64_t number = table_.first_unfilled_spare();
  if (number == table_.ready_end() || fill_waits(now)) return;
  change(Step::top_up);
  table_.begin_filling(number);
}

// After an error the rest stays without zeros: its space is allocated, and the log's own write
// meets the error.
void SegmentMaker::end_top_up(std::int32_t result) {
  const std::uint64_t number = table_.filling(), usable = table_.usable_bytes(number);
  table_.end_filling(result < 0 ? usable : next_zeros(table_.zeros_in(number), usable).next);
  change(Step::none);
}

// A new file without space is deleted in favour of a filled retired one, which needs no space.
// Without one, unfilled retired files are deleted in favour of the new file. False: the file cannot
// be deleted now.
bool SegmentMaker::delete_spare_file(Instant now) {
  const bool gives_way = retired_.filled() > 0;
  if (!gives_way && retired_.empty()) return true;
  const std::uint64_t number = gives_way ? table_.ready_end() : retired_.last().number;
  if (!disk_.remove(segment_name(number))) {
    retry_later(now);
    return false;
  }
  if (!gives_way) {
    disk_.close(retired_.take_last().file);
    return true;
  }
  disk_.close(std::exchange(making_, FileId::none));
  change(Step::begin);
  return true;
}

void SegmentMaker::made() {
  CHECK(making_ != FileId::none, "no file was made");
  CHECK(filled_bytes_ == geometry_.segment_bytes, "{} bytes", filled_bytes_);
  table_.adopt(table_.ready_end(), std::exchange(making_, FileId::none), table_.next_usable(),
               std::max<std::uint64_t>(zeros_end_, block_bytes), {});  // the header stays
  table_.choose_next_usable(0);
  if (step_ != Step::none) change(Step::none);
  disk_full_ = false;
}

Result<void> SegmentMaker::issue(Instant now) {
  CHECK(!busy(), "an operation is under way");
  switch (step_) {
    case Step::none:
    case Step::remove:
      break;
    case Step::begin:
      return begin(now);
    case Step::allocate:
      CHECK(making_ != FileId::none && table_.next_usable() > 0, "{}", table_.next_usable());
      disk_.allocate(making_, table_.next_usable(), io_);
      break;
    case Step::fill:
      CHECK(making_ != FileId::none, "no file is being made");
      CHECK(filled_bytes_ % block_bytes == 0, "{}", filled_bytes_);
      note_fill(now);
      disk_.write(making_, fill_piece().at, fill_piece().bytes,
                  flush_each_fill_ && !MUTANT(header_before_fill) ? Flush::yes : Flush::no, io_);
      break;
    case Step::flush:
      CHECK(making_ != FileId::none, "no file is being made");
      disk_.sync(making_, io_);
      break;
    case Step::header:
      CHECK(making_ != FileId::none, "no file is being made");
      CHECK(filled_bytes_ == geometry_.segment_bytes, "{} bytes are filled", filled_bytes_);
      make_header();
      disk_.write(making_, 0, header_.span(), Flush::yes, io_);
      break;
    case Step::dir_sync:
    case Step::remove_sync:
      disk_.sync_dir(io_);
      break;
    case Step::top_up: {
      note_fill(now);
      const std::uint64_t n = table_.filling();
      const Piece piece = next_zeros(table_.zeros_in(n), table_.usable_bytes(n));
      const bool flushes = flush_each_fill_ || piece.next == table_.usable_bytes(n);
      disk_.write(table_.file_being_filled(), piece.at, piece.bytes,
                  flushes ? Flush::yes : Flush::no, io_);
      break;
    }
  }
  return {};
}

// Names the file of the next segment: a renamed retired file, or a new one. Blocking, about 20 us.
Result<void> SegmentMaker::begin(Instant now) {
  CHECK(making_ == FileId::none, "another segment is being made");
  const std::uint64_t number = table_.ready_end();
  const std::string name = segment_name(number);
  if (table_.next_usable() == 0)
    table_.choose_next_usable(retired_.filled() > 0 ? geometry_.segment_bytes
                                                    : demand_.next_usable_bytes());
  const std::size_t i = retired_.choose(number);
  if (i < retired_.size()) {
    if (retired_[i].number != number) {
      if (auto renamed = disk_.rename(segment_name(retired_[i].number), name); !renamed) {
        if (!disk_is_full(renamed.error().sys)) return renamed;
        retry_later(now);
        return {};
      }
    }
    const RetiredFile from = retired_.take(i);
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
  change(filled_bytes_ == geometry_.segment_bytes ? Step::header
         : can_allocate_                          ? Step::allocate
                                                  : Step::fill);
  return issue(now);
}

// Deletes files that the next segments will not need. A file is closed first: dropping its last
// reference waits until its space is freed, and the asynchronous delete does that.
void SegmentMaker::trim() {
  if (!removing_) {
    if (demand_.too_many_retired()) {
      const RetiredFile gone = retired_.take_last();
      disk_.close(gone.file);
      removing_ = segment_name(gone.number);
    } else if (demand_.may_shrink() && demand_.too_many_spares()) {
      disk_.close(table_.drop_last_spare());
      removing_ = segment_name(table_.ready_end());
      removes_spare_ = true;
    } else {
      return;
    }
    demand_.shrunk();
  }
  change(Step::remove);
  CHECK(removing_.has_value() && making_ == FileId::none, "a segment is being made");
  disk_.remove(*removing_, io_);
}

// Behind the space of a small segment only the last block is written: the file is full size.
SegmentMaker::Piece SegmentMaker::fill_piece() const {
  if (filled_bytes_ >= table_.next_usable()) {
    const std::uint64_t at = geometry_.segment_bytes - block_bytes;
    return {at, std::span(zeros).first(block_bytes), geometry_.segment_bytes};
  }
  return next_zeros(filled_bytes_, table_.next_usable());
}

SegmentMaker::Piece SegmentMaker::next_zeros(std::uint64_t from, std::uint64_t end) const {
  CHECK(from < end, "zeros from {} to {}", from, end);
  const std::uint64_t bytes = std::min(piece_bytes(), end - from);
  return {from, std::span(zeros).first(bytes), from + bytes};
}

void SegmentMaker::make_header() {
  const std::uint64_t number = table_.ready_end(), usable = table_.next_usable();
  const bool is_small = usable != geometry_.segment_bytes;
  write_segment_header(
      Block(header_.data(), block_bytes),
      {geometry_.stream, number, geometry_.segment_base(number), is_small ? usable : 0});
}

Result<void> SegmentMaker::create_now() {
  CHECK(step_ == Step::none && !busy(), "step {}", static_cast<int>(step_));
  const std::uint64_t number = table_.ready_end();
  if (table_.next_usable() == 0) table_.choose_next_usable(demand_.next_usable_bytes());
  for (;;) {
    const std::size_t i = retired_.choose(number);
    if (i < retired_.size() && retired_[i].number == number) {
      making_ = retired_.take(i).file;
    } else {
      const auto file = disk_.create(segment_name(number));
      if (!file) return std::unexpected(file.error());
      making_ = *file;
    }
    filled_bytes_ = 0;
    const auto filled = fill_now();
    if (filled) break;
    if (file_is_refused(filled.error().sys)) {
      retired_.add({number, std::exchange(making_, FileId::none), false, filled_bytes_});
      return filled;
    }
    if (auto aside = set_file_aside(filled.error().sys); !aside) return aside;
    if (step_ == Step::none) change(Step::begin);
  }
  if (auto synced = disk_.sync_dir_now(); !synced) return synced;
  zeros_end_ = table_.next_usable();
  made();
  return {};
}

Result<void> SegmentMaker::fill_now() {
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

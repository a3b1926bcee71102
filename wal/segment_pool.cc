#include "wal/segment_pool.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/check.h"
#include "core/mutant.h"

namespace pawl {
namespace {

bool disk_is_full(int sys) { return sys == ENOSPC || sys == EDQUOT; }

// What new files are filled with, for all shards. Not const: a constant would be a megabyte of the program.
alignas(block_bytes) std::array<std::byte, SegmentPool::fill_bytes_max> zeros;

}  // namespace

SegmentPool::SegmentPool(Disk& disk, const Geometry& geometry, std::uint32_t spares)
    : disk_(disk), geometry_(geometry), spares_(spares), header_(block_bytes) {
  retired_.reserve(64);
}

SegmentPool::~SegmentPool() {
  for (; !ready_.empty(); ready_.pop_front()) disk_.close(ready_.front());
  for (const Retired& retired : retired_) disk_.close(retired.file);
  if (making_ != FileId::none) disk_.close(making_);
}

void SegmentPool::adopt_retired(std::uint64_t number, FileId file, bool filled) {
  retired_.push_back({number, file, filled});
}

FileId SegmentPool::file(std::uint64_t number) const {
  CHECK(ready(number), "segment {} of {} to {}", number, first_, ready_end());
  return ready_[number - first_];
}

void SegmentPool::keep(std::uint64_t number, Instant until) {
  CHECK(number >= first_, "segment {} below {}", number, first_);
  while (kept_until_.size() <= number - first_) kept_until_.push_back(Instant{});
  Instant& kept = kept_until_[number - first_];
  kept = std::max(kept, until);
}

std::uint64_t SegmentPool::first_kept(Instant now) const {
  for (std::size_t i = 0; i < kept_until_.size(); ++i) {
    if (kept_until_[i] > now) return first_ + i;
  }
  return UINT64_MAX;
}

void SegmentPool::retire(std::uint64_t first) {
  CHECK(first <= tail_ && first <= ready_end(), "{} of {}", first, tail_);
  for (; first_ < first; ++first_) {
    retired_.push_back({first_, ready_.front(), true});
    ready_.pop_front();
    if (!kept_until_.empty()) kept_until_.pop_front();
  }
}

Result<void> SegmentPool::pump(Instant now, bool stopping) {
  if (io_.armed) return {};
  if (io_.done) {
    const std::int32_t result = io_.result;
    io_ = {};
    if (result < 0) {
      if (step_ != Step::fill && !disk_is_full(-result))
        return fail(Errc::io, "new segment", -result);
      retry_later(now);
      return {};
    }
    switch (step_) {
      case Step::fill:
        filled_ += fill_piece().size();
        if (filled_ == geometry_.segment_bytes)
          step_ = MUTANT(header_before_fill) ? Step::header : Step::fill_sync;
        break;
      case Step::fill_sync:
        step_ = Step::header;
        break;
      case Step::header:
        step_ = Step::dir_sync;
        if (MUTANT(forget_directory_sync)) made();
        break;
      case Step::dir_sync:
        made();
        break;
      case Step::none:
      case Step::begin:
        CHECK(false, "nothing was under way");
    }
  }
  if (stopping) return {};
  if (retry_at_ != never && now < retry_at_) return {};
  retry_at_ = never;
  if (step_ == Step::none) {
    if (spares() >= spares_) {
      trim(now);
      return {};
    }
    step_ = Step::begin;
  }
  return issue(now);
}

void SegmentPool::made() {
  ready_.push_back(making_);
  making_ = FileId::none;
  step_ = Step::none;
}

Result<void> SegmentPool::issue(Instant now) {
  switch (step_) {
    case Step::none:
      break;
    case Step::begin:
      return begin(now);
    case Step::fill:
      disk_.write(making_, filled_, fill_piece(), Flush::no, io_);
      break;
    case Step::fill_sync:
      disk_.sync(making_, io_);
      break;
    case Step::header: {
      const std::uint64_t number = ready_end();
      write_segment_header(Block(header_.data(), block_bytes),
                           {geometry_.stream, number, geometry_.segment_base(number)});
      disk_.write(making_, 0, header_.span(), Flush::yes, io_);
      break;
    }
    case Step::dir_sync:
      disk_.sync_dir(io_);
      break;
  }
  return {};
}

// The name: a retired file's, or a new one. Blocking, about 20 us.
Result<void> SegmentPool::begin(Instant now) {
  const std::string name = segment_name(ready_end());
  const std::size_t i = choose_retired();
  if (i < retired_.size()) {
    const Retired from = retired_[i];
    if (from.number != ready_end()) {
      if (auto renamed = disk_.rename(segment_name(from.number), name); !renamed) {
        if (!disk_is_full(renamed.error().sys)) return renamed;
        retry_later(now);
        return {};
      }
    }
    retired_.erase(retired_.begin() + static_cast<std::ptrdiff_t>(i));
    making_ = from.file;
    filled_ = from.filled ? geometry_.segment_bytes : 0;
  } else {
    const auto file = disk_.create(name);
    if (!file) {
      if (!disk_is_full(file.error().sys)) return std::unexpected(file.error());
      retry_later(now);
      return {};
    }
    making_ = *file;
    filled_ = 0;
  }
  step_ = filled_ == geometry_.segment_bytes ? Step::header : Step::fill;
  return issue(now);
}

// A file that has the name already must be the one: a rename onto it would lose it to us.
std::size_t SegmentPool::choose_retired() const {
  for (std::size_t i = 0; i < retired_.size(); ++i) {
    if (retired_[i].number == ready_end()) return i;
  }
  return 0;
}

// Gives back to the file system what the next segments will not need.
void SegmentPool::trim(Instant now) {
  if (retired_.size() <= std::max<std::size_t>(spares_, 1)) return;
  const Retired gone = retired_.back();
  if (!disk_.remove(segment_name(gone.number))) return retry_later(now);
  disk_.close(gone.file);
  retired_.pop_back();
}

std::span<const std::byte> SegmentPool::fill_piece() const {
  return std::span(zeros).first(
      std::min<std::uint64_t>(zeros.size(), geometry_.segment_bytes - filled_));
}

Result<void> SegmentPool::create_now() {
  const auto file = disk_.create(segment_name(ready_end()));
  if (!file) return std::unexpected(file.error());
  making_ = *file;
  for (filled_ = 0; filled_ < geometry_.segment_bytes; filled_ += fill_piece().size()) {
    if (auto written = disk_.write_now(making_, filled_, fill_piece()); !written) return written;
  }
  if (auto synced = disk_.sync_now(making_); !synced) return synced;
  const std::uint64_t number = ready_end();
  write_segment_header(Block(header_.data(), block_bytes),
                       {geometry_.stream, number, geometry_.segment_base(number)});
  if (auto written = disk_.write_now(making_, 0, header_.span()); !written) return written;
  if (auto synced = disk_.sync_now(making_); !synced) return synced;
  if (auto synced = disk_.sync_dir_now(); !synced) return synced;
  made();
  return {};
}

}  // namespace pawl

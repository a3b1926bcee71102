// SPDX-License-Identifier: Apache-2.0
// Recovery: judges the bytes behind the last good frame, and starts the log from there.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/check.h"
#include "core/base/mutant.h"
#include "wal/recovery/recovery_steps.h"

namespace pawl {

// Scans everything behind the tail for frames that prove a longer durable log than was read.
// Incomplete segments are scanned too, whatever their names: a frame states its own position.
Result<void> Recovery::look_ahead() {
  if (!scratch_) scratch_ = PageBlock(geometry_.extent_bytes);
  for (const SegmentFile& segment : segments_) {
    if (segment.number < geometry_.segment_of(tail_) || !witness_.empty()) continue;
    const std::uint64_t from =
        segment.number == geometry_.segment_of(tail_) ? geometry_.offset_of(tail_) : 0;
    if (auto looked = look_through(segment, from); !looked) return looked;
  }
  return {};
}

Result<void> Recovery::look_through(const SegmentFile& segment, std::uint64_t offset) {
  for (std::uint64_t base = offset - offset % scratch_.size(); base < segment.bytes;
       base += scratch_.size()) {
    const auto bytes = read(segment.file, base, scratch_.span());
    if (!bytes) return std::unexpected(bytes.error());
    for (std::uint64_t skip = base < offset ? offset - base : 0; skip < *bytes;
         skip += block_bytes) {
      look_at(scratch_.span().subspan(skip), segment, base + skip);
    }
  }
  return {};
}

void Recovery::look_at(std::span<const std::byte> rest, const SegmentFile& segment,
                       std::uint64_t offset) {
  LogFrameHeader header;
  std::memcpy(&header, rest.data(), sizeof header);
  if (header.magic != frame_magic || header.lsn < tail_ ||
      geometry_.offset_of(header.lsn) != offset)
    return;
  const FrameCheck check = check_frame(rest, geometry_.stream, header.lsn);
  if (check.fault != LogFault::none) return;
  epoch_seen_ = std::max<std::uint64_t>(epoch_seen_, header.epoch);
  if (stale(header)) return;
  remains_ = true;
  if (header.durable <= tail_ || !witness_.empty()) return;
  witness_ = fmt::format("acknowledged frames follow at {} offset {}", segment_name(segment.number),
                         offset);
}

Result<void> Recovery::judge(const Found& bad) {
  CHECK(bad.at >= tail_ && bad.check.fault != LogFault::none, "{} at {}, the tail at {}",
        pawl::describe(bad.check.fault), bad.at, tail_);
  const Lsn promised = std::max(manifest_.durable, manifest_.clean);
  if (witness_.empty() && promised > tail_) {
    witness_ =
        fmt::format("the manifest says that everything up to {} was on disk", describe(promised));
  }
  if (!witness_.empty() && !MUTANT(cut_anything)) {
    return refuse(Errc::corrupt, fmt::format("{}: {} (expected a frame of epoch {} or later that "
                                             "follows the one at {}), and {}; restore "
                                             "the directory from a copy, or run `pawl wal verify`",
                                             describe(bad.at), pawl::describe(bad.check.fault),
                                             epoch_, describe(last_frame_), witness_));
  }
  const LogFault fault = bad.check.fault;
  const bool torn =
      fault == LogFault::length || fault == LogFault::hash || fault == LogFault::padding;
  if (torn || remains_) report_.torn_at = tail_;
  return {};
}

Result<std::unique_ptr<Log>> Recovery::finish() {
  CHECK(last_frame_ < tail_ || tail_ == 0, "a frame at {}, the tail at {}", last_frame_, tail_);
  log_->space_.set_checkpoint_bytes(checkpoint_bytes_);
  for (SegmentFile& segment : segments_) {
    if (segment.adopted) continue;
    // The file is filled again, whatever its size: only a header proves that its zeros were on
    // disk.
    log_->pool_.adopt_retired(segment.number, segment.file, false);
    segment.adopted = true;
  }
  if (auto cleared = clear_tail(); !cleared)
    return pass_on(cleared.error(), "clearing the end of the log");
  log_->image_.truncate(geometry_.extent_of(tail_ + geometry_.extent_bytes - 1));
  Manifest next = log_->manifest_->current();
  next.epoch = std::max(next.epoch, epoch_seen_) + (MUTANT(keep_epoch) ? 0 : 1);
  next.durable = tail_;
  next.clean = 0;
  next.start = options_.membership.starts + 1;
  // Both files are written: one may be damaged, or from before the first segment existed.
  for (int i = 0; i < 2; ++i) {
    if (auto written = log_->manifest_->write_now(next); !written) {
      return pass_on(written.error(), "writing the manifest");
    }
  }
  const std::uint64_t segment = last_frame_ == 0 ? next.first : geometry_.segment_of(last_frame_);
  log_->pool_.enter(segment);
  log_->pool_.adopted(report_.newest);
  for (const SegmentRecord& sent : log_->pool_.sent()) {  // segments with messages
    if (std::ranges::binary_search(damaged_headers_, sent.number))
      report_.unreadable_segments.push_back(sent.number);
  }
  if (auto made = make_ahead(); !made) return pass_on(made.error(), "making a segment");
  log_->writer_.start({tail_, last_frame_, static_cast<std::uint32_t>(next.epoch), segment});
  return std::move(log_);
}

// The bytes at the tail were rejected, but could be accepted once the log has continued behind
// them. A frame that does not fit into the rest of the extent begins the next one, so nothing would
// ever overwrite these bytes. Everywhere else the epoch decides.
Result<void> Recovery::clear_tail() {
  const Lsn at = log_->pool_.frame_position(tail_);
  if (geometry_.segment_of(at) >= whole_end_) return {};
  const FileId file = log_->pool_.file(geometry_.segment_of(at));
  PageBlock block(block_bytes);
  const auto there = disk_.read_now(file, geometry_.offset_of(at), block.span());
  if (!there) return std::unexpected(there.error());
  const auto is_zero = [](std::byte byte) { return byte == std::byte{0}; };
  if (std::ranges::all_of(block.span(), is_zero)) return {};
  std::ranges::fill(block.span(), std::byte{0});
  if (auto written = disk_.write_now(file, geometry_.offset_of(at), block.span()); !written)
    return written;
  return disk_.sync_now(file);
}

// Makes space for the first messages, at most that of a log at rest. A full disk has none, and is
// no reason not to start.
Result<void> Recovery::make_ahead() {
  SegmentPool& pool = log_->pool_;
  const std::uint64_t reserve = log_->space_.least_reserve();
  const std::uint64_t wanted = reserve + std::min(reserve, pool.beyond_wanted());
  while (pool.free_space_behind(tail_) < wanted) {
    const std::uint64_t before = pool.ready_end();
    if (auto created = pool.create_now(); !created)
      return file_is_refused(created.error().sys) ? Result<void>{} : created;
    CHECK(pool.ready_end() == before + 1, "segments to {}, before to {}", pool.ready_end(), before);
  }
  return {};
}

}  // namespace pawl

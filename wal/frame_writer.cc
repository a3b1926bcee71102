// SPDX-License-Identifier: Apache-2.0
#include "wal/frame_writer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/check.h"
#include "core/base/mutant.h"

namespace pawl {

void FrameWriter::start(const Start& start) {
  CHECK(tail_ == 0 && !open_ && frames_.empty(), "the writer was started before");
  CHECK(start.tail % block_bytes == 0, "the tail is at {}", start.tail);
  CHECK(start.last_frame < start.tail || start.tail == 0, "a frame at {}, the tail at {}",
        start.last_frame, start.tail);
  CHECK(start.epoch > 0, "an epoch of a log begins at 1");
  CHECK(geometry_.segment_of(start.last_frame) <= start.segment, "a frame at {}, segment {} begun",
        start.last_frame, start.segment);
  CHECK(start.segment <= geometry_.segment_of(start.tail), "segment {} begun, the tail at {}",
        start.segment, start.tail);
  tail_ = handed_end_ = durable_ = start.tail;
  last_frame_ = start.last_frame;
  epoch_ = start.epoch;
  segment_ = start.segment;
}

// Bytes are appended, then handed to the disk, then durable; frames are handed over in order.
void FrameWriter::check_marks() const {
  CHECK(handed_end_ <= tail_, "handed over to {}, the end at {}", handed_end_, tail_);
  CHECK(durable_ <= handed_end_, "durable to {}, handed over to {}", durable_, handed_end_);
  CHECK(handed_ <= frames_.size(), "{} of {} frames handed over", handed_, frames_.size());
  CHECK(under_way_ <= handed_, "{} writes of {} frames", under_way_, handed_);
  CHECK(under_way_ <= writes_max, "{} writes", under_way_);
  CHECK(urgent_ <= tail_ && forced_ <= tail_, "{} and {} behind {}", urgent_, forced_, tail_);
}

// --- building ---

Lsn FrameWriter::first_frame_from(Lsn lsn) const {
  CHECK(lsn <= tail_, "{} behind the end {}", lsn, tail_);
  for (std::size_t i = handed_; i < frames_.size(); ++i) {
    if (frames_[i].start >= lsn) return frames_[i].start;
  }
  CHECK(open_ && frame_start_ >= lsn, "no frame from {} on", lsn);
  return frame_start_;
}

void FrameWriter::begin_frame(std::size_t bytes) {
  CHECK(bytes <= geometry_.record_space(), "a record of {} bytes", bytes);
  if (open_) close_frame();
  const std::size_t need = log_frame_header_bytes + bytes;
  Lsn start = pool_.frame_position(tail_);
  if (start + need > geometry_.extent_end(start))
    start = pool_.frame_position(geometry_.extent_end(start));
  CHECK(start % block_bytes == 0, "{}", start);
  CHECK(start >= tail_, "a frame at {} before the end {}", start, tail_);
  CHECK(start + need <= geometry_.extent_end(start), "{} bytes at {}", need, start);
  CHECK(geometry_.segment_of(start) >= segment_, "segment {} after {}", geometry_.segment_of(start),
        segment_);
  padding_bytes_ += pool_.between(tail_, start);
  if (geometry_.segment_of(start) != segment_) {
    segment_ = geometry_.segment_of(start);
    pool_.enter(segment_, wall_);
  }
  open_ = true;
  frame_start_ = start;
  frame_limit_ = std::min(geometry_.extent_end(start), start + std::max(log_frame_bytes_max, need));
  frame_memory_ = image_.open(geometry_.extent_of(start)) + start % geometry_.extent_bytes;
  frame_records_ = 0;
  frame_since_ = wall_;
  tail_ = start + log_frame_header_bytes;
}

void FrameWriter::close_frame() {
  CHECK(open_ && frame_records_ > 0, "{} records", frame_records_);
  CHECK(tail_ > frame_start_ + log_frame_header_bytes, "a frame from {} to {}", frame_start_,
        tail_);
  CHECK(last_frame_ < frame_start_, "a frame at {} after {}", frame_start_, last_frame_);
  CHECK(last_frame_ == 0 || frame_start_ - last_frame_ < segment_bytes_max,
        "a frame at {} after {}", frame_start_, last_frame_);
  LogFrameHeader header;
  header.length = static_cast<std::uint32_t>(tail_ - frame_start_);
  header.lsn = frame_start_;
  header.stream = geometry_.stream;
  header.epoch = epoch_;
  header.prev = last_frame_ == 0 ? 0 : static_cast<std::uint32_t>(frame_start_ - last_frame_);
  header.records = frame_records_;
  header.wall_ms = wall_.ms;
  std::memcpy(frame_memory_, &header, sizeof header);
  const Lsn end = align_up(tail_, block_bytes);
  CHECK(end <= geometry_.extent_end(frame_start_), "a frame from {} to {}", frame_start_, end);
  CHECK(frames_.empty() || frames_.back().end <= frame_start_, "a frame at {}", frame_start_);
  std::memset(frame_memory_ + header.length, 0, end - tail_);
  padding_bytes_ += end - tail_;
  frames_.push_back({frame_start_, end, header.length, frame_since_, false});
  last_frame_ = frame_start_;
  tail_ = end;
  open_ = false;
}

// --- writing ---

void FrameWriter::submit(Instant now, std::uint64_t now_us, bool idle) {
  now_ = now;
  now_us_ = now_us;
  note_pending(now_us);
  if (urgent_ <= durable_) {
    progress_us_ = 0;
  } else if (progress_us_ == 0) {
    progress_us_ = std::max<std::uint64_t>(now_us, 1);
  }
  while (may_write(now, now_us, idle) && hand_over(now_us)) {
  }
  check_marks();
}

void FrameWriter::note_pending(std::uint64_t now_us) {
  if (unwritten() == 0) {
    pending_since_us_ = 0;
  } else if (pending_since_us_ == 0) {
    pending_since_us_ = std::max<std::uint64_t>(now_us, 1);
  }
}

void FrameWriter::note_progress(std::uint64_t now_us) {
  if (progress_us_ == 0 || now_us < progress_us_) return;
  gap_us_max_ = std::max(gap_us_max_, now_us - progress_us_);
  progress_us_ = std::max<std::uint64_t>(now_us, 1);
}

// The rule of wal/log.h: no timer, no write of lazy records alone, a second write only for a good
// reason.
bool FrameWriter::may_write(Instant now, std::uint64_t now_us, bool idle) const {
  if (unwritten() == 0 || under_way_ == writes_max) return false;
  const bool forced = forced_ > handed_end_;
  const bool lazy_due =
      lazy_since_ != never && now - lazy_since_ >= lazy_max_ && !MUTANT(forget_lazy);
  if (!forced && !lazy_due && urgent_ <= handed_end_ && unwritten() < lazy_bytes_max) return false;
  if (under_way_ == 0 || forced) return true;
  const std::uint64_t waited =
      pending_since_us_ == 0 || now_us < pending_since_us_ ? 0 : now_us - pending_since_us_;
  return idle && (unwritten() >= second_write_bytes || waited > flush_us_ / 2);
}

// Submits the oldest closed frame; without one it closes the open frame first. False: the frame's
// segment is not ready.
bool FrameWriter::hand_over(std::uint64_t now_us) {
  if (handed_ == frames_.size()) close_frame();
  Frame& frame = frames_[handed_];
  const std::uint64_t segment = geometry_.segment_of(frame.start);
  if (!pool_.ready(segment)) return false;
  std::byte* memory = image_.at(frame.start);
  LogFrameHeader header;
  std::memcpy(&header, memory, sizeof header);
  CHECK(header.lsn == frame.start, "the frame of {} at {}", header.lsn, frame.start);
  header.durable = durable_;
  std::memcpy(memory, &header, sizeof header);
  seal_frame({memory, frame.length});

  Write& write = writes_[writes_[0].busy ? 1 : 0];
  CHECK(!write.busy && !write.io.armed && !write.io.done, "the write is in use");
  CHECK(frame.length <= frame.end - frame.start, "{} bytes at {}", frame.length, frame.start);
  write.start = frame.start;
  write.since_us = now_us;
  write.busy = true;
  const std::size_t bytes = frame.end - frame.start;
  CHECK(frame.start >= handed_end_, "a frame at {}, handed over to {}", frame.start, handed_end_);
  CHECK(!frame.done, "the frame at {} was written before", frame.start);
  ++handed_;
  ++under_way_;
  ++frames_written_;
  bytes_written_ += bytes;
  handed_end_ = frame.end;
  if (unwritten() == 0) lazy_since_ = never;
  pending_since_us_ = 0;
  note_pending(now_us);
  note_progress(now_us);
  disk_.write(pool_.file(segment), geometry_.offset_of(frame.start), {memory, bytes}, Flush::yes,
              write.io);
  return true;
}

std::optional<FrameWriter::Failure> FrameWriter::reap(std::uint64_t now_us) {
  for (Write& write : writes_) {
    if (!write.busy || !write.io.done) continue;
    Frame& frame = frame_at(write.start);
    const std::int32_t result = write.io.result;
    write.io = {};
    write.busy = false;
    ++reaped_;
    CHECK(under_way_ > 0, "no write is under way");
    CHECK(!frame.done, "the frame at {} is done", frame.start);
    --under_way_;
    if (result != static_cast<std::int32_t>(frame.end - frame.start) && !MUTANT(ignore_write_error))
      return Failure{result < 0 ? -result : EIO, frame.start};
    frame.done = true;
    note_progress(now_us);
    const std::uint64_t took = now_us > write.since_us ? now_us - write.since_us : 0;
    flush_us_ = flush_us_ == 0 ? took : (7 * flush_us_ + took) / 8;
    flush_times_.note(took);
  }
  advance();
  return std::nullopt;
}

FrameWriter::Frame& FrameWriter::frame_at(Lsn start) {
  for (std::size_t i = 0; i < handed_; ++i) {
    if (frames_[i].start == start) return frames_[i];
  }
  CHECK(false, "no frame at {} is under way", start);
}

// Advances durable_ over the finished frames from the oldest on, never past a gap.
void FrameWriter::advance() {
  while (handed_ > 0 && frames_.front().done) {
    CHECK(frames_.front().start >= durable_ || MUTANT(durable_not_contiguous),
          "a frame at {}, durable to {}", frames_.front().start, durable_);
    durable_ = std::max(durable_, frames_.front().end);
    frames_.pop_front();
    --handed_;
  }
  for (std::size_t i = 0; MUTANT(durable_not_contiguous) && i < handed_; ++i) {
    if (frames_[i].done) durable_ = std::max(durable_, frames_[i].end);
  }
  const Lsn floor = !frames_.empty() ? frames_.front().start : open_ ? frame_start_ : tail_;
  image_.settle(geometry_.extent_of(floor));
}

Instant FrameWriter::next_due() const {
  if (unwritten() == 0) return never;
  // The completion of a segment in preparation, or of a write under way, triggers the next submit.
  const Lsn next = handed_ < frames_.size() ? frames_[handed_].start : frame_start_;
  if (!pool_.ready(geometry_.segment_of(next))) return never;
  if (under_way_ > 0) return may_write(now_, now_us_, true) ? Instant{0} : never;
  return lazy_since_ == never ? never : lazy_since_ + lazy_max_;
}

}  // namespace pawl

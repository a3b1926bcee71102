// SPDX-License-Identifier: Apache-2.0
#include "wal/writer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "core/base/check.h"
#include "core/base/mutant.h"
#include "wal/format/checkpoint_records.h"
#include "wal/format/fan_out_record.h"
#include "wal/format/records.h"

namespace pawl {
namespace {

// The first entries of `all` that share a queue, at most batch_max.
template <typename Record>
std::span<const Record> run_of(std::span<const Record> all) {
  std::size_t n = 1;
  while (n < all.size() && n < batch_max && all[n].queue == all[0].queue) ++n;
  return all.first(n);
}

// Calls encode(run) with runs of at most `max` elements.
template <typename T, typename Encode>
void in_runs(std::span<T> all, std::size_t max, Encode&& encode) {
  while (!all.empty()) {
    const auto run = all.first(std::min(all.size(), max));
    encode(run);
    all = all.subspan(run.size());
  }
}

}  // namespace

void Writer::start(const Start& start) {
  CHECK(tail_ == 0 && !open_ && frames_.empty(), "the writer was started before");
  CHECK(start.tail % block_bytes == 0, "the tail is at {}", start.tail);
  CHECK(start.last_frame < start.tail || start.tail == 0, "a frame at {}, the tail at {}",
        start.last_frame, start.tail);
  tail_ = handed_end_ = durable_ = start.tail;
  last_frame_ = start.last_frame;
  epoch_ = start.epoch;
  segment_ = start.segment;
}

// Bytes are appended, then handed to the disk, then durable; frames are handed over in order.
void Writer::check_marks() const {
  CHECK(handed_end_ <= tail_, "handed over to {}, the end at {}", handed_end_, tail_);
  CHECK(durable_ <= handed_end_, "durable to {}, handed over to {}", durable_, handed_end_);
  CHECK(handed_ <= frames_.size(), "{} of {} frames handed over", handed_, frames_.size());
  CHECK(under_way_ <= handed_, "{} writes of {} frames", under_way_, handed_);
  CHECK(under_way_ <= writes_max, "{} writes", under_way_);
  CHECK(urgent_ <= tail_ && forced_ <= tail_, "{} and {} behind {}", urgent_, forced_, tail_);
}

// --- building ---

Lsn Writer::append(Effects& effects, Instant now) {
  if (!effects.has_records()) return tail_;
  wall_ = now;
  // Rows come first: a topic's text with its subscriptions may be replaced only once the rows
  // exist.
  for (const ConfigRecord& record : effects.configs) {
    append_rows(record);
    commit(encode_config(reserve(config_bytes(*record.config)), record, geometry_.stream));
  }
  append_heads(effects.heads);
  append_sends(effects);
  for (const NumberRecord& record : effects.numbers) {
    commit(encode_number(reserve(number_bytes), record, geometry_.stream));
  }
  append_receives(effects);
  for (const ForgetTransferRecord& record : effects.forgotten_transfers) {
    commit(encode_forget_transfer(reserve(forget_transfer_bytes), record, geometry_.stream));
  }
  append_replays(effects.replays);
  const Lsn before_deletes = tail_;
  append_deletes(effects);
  for (const PurgeRecord& record : effects.purges) {
    commit(encode_purge(reserve(purge_bytes), record, geometry_.stream));
  }
  for (const TaskRecord& record : effects.tasks) append_task(record);
  const bool lazy = tail_ == before_deletes && effects.sends.empty() && effects.configs.empty() &&
                    effects.numbers.empty();
  if (!lazy) {
    urgent_ = tail_;
  } else if (lazy_since_ == never) {
    lazy_since_ = now;
  }
  return tail_;
}

void Writer::append(const CheckpointSlice& slice, Instant now) {
  wall_ = now;
  for (const ConfigRecord& record : slice.configs) {
    commit(encode_config(reserve(config_bytes(*record.config)), record, geometry_.stream));
    append_rows(record);
  }
  append_heads(slice.heads);
  for (const PurgeRecord& record : slice.purges) {
    commit(encode_purge(reserve(purge_bytes), record, geometry_.stream));
  }
  for (const TaskRecord& record : slice.tasks) append_task(record);
  append_replays(slice.replays);
  for (const CheckpointRecord& record : slice.records) {
    std::visit([this](const auto& part) { append_part(part); }, record);
  }
  if (lazy_since_ == never) lazy_since_ = now;
}

void Writer::append_rows(const ConfigRecord& record) {
  const auto& rows = record.config->rows;
  for (const std::uint64_t number : record.rows) {
    const auto it =
        std::ranges::lower_bound(rows, number, {}, [](const auto& row) { return row->number; });
    const bool there = it != rows.end() && (*it)->number == number;
    const std::string_view text = there ? std::string_view((*it)->text) : std::string_view();
    commit(encode_row(reserve(row_bytes(text)), record.config->id, number, text, geometry_.stream));
  }
}

void Writer::append_part(const IndexEntriesRecord& record) {
  in_runs(std::span(record.entries), index_entries_max, [&](auto run) {
    commit(encode_index_entries(reserve(index_entries_bytes_max(run.size())), record.queue, run,
                                geometry_.stream));
  });
}

void Writer::append_part(const TrackedMessagesRecord& record) {
  in_runs(std::span(record.entries), tracked_messages_max, [&](auto run) {
    commit(encode_tracked_messages(reserve(tracked_messages_bytes_max(run.size())), record.queue,
                                   record.fifo, run, geometry_.stream));
  });
}

void Writer::append_part(const TimesRecord& record) {
  std::span buckets(record.buckets);
  std::span aged(record.aged);
  bool first = record.first;
  do {
    TimesRecord piece{.queue = record.queue,
                      .first = std::exchange(first, false),
                      .end = record.end,
                      .buckets = {},
                      .aged = {}};
    const auto some = buckets.first(std::min(buckets.size(), times_max));
    const auto more = aged.first(std::min(aged.size(), times_max - some.size()));
    piece.buckets.assign(some.begin(), some.end());
    piece.aged.assign(more.begin(), more.end());
    commit(
        encode_times(reserve(times_bytes_max(some.size() + more.size())), piece, geometry_.stream));
    buckets = buckets.subspan(some.size());
    aged = aged.subspan(more.size());
  } while (!buckets.empty() || !aged.empty());
}

void Writer::append_part(const DedupRecord& record) {
  in_runs(std::span(record.entries), dedup_max, [&](auto run) {
    commit(encode_dedup(reserve(dedup_bytes_max(run.size())), record.queue, run, geometry_.stream));
  });
}

void Writer::append_part(const UnsettledTransferRecord& record) {
  commit(encode_unsettled(reserve(unsettled_bytes), record, geometry_.stream));
}

void Writer::append_part(const ProducersRecord& record) {
  in_runs(std::span(record.entries), producers_max, [&](auto run) {
    commit(encode_producers(reserve(producers_bytes_max(run.size())), record.queue, run,
                            geometry_.stream));
  });
}

void Writer::append_heads(std::span<const HeadRecord> heads) {
  while (!heads.empty()) {
    std::size_t alike = 1;
    while (alike < std::min(heads.size(), batch_max) &&
           heads[alike].reserved == heads.front().reserved)
      ++alike;
    const auto run = heads.first(alike);
    commit(encode_heads(reserve(heads_bytes_max(run.size())), run, geometry_.stream));
    heads = heads.subspan(alike);
  }
}

void Writer::append_sends(Effects& effects) {
  const std::size_t bytes_max = std::min(record_bytes_max, geometry_.record_space());
  for (std::span<SendRecord> left = effects.sends; !left.empty();) {
    const std::span<SendRecord> run = left.first(sharing(left, bytes_max));
    const bool shared = run.size() > 1;
    std::byte* const out = reserve(shared ? fan_out_bytes(run) : send_bytes(run.front()));
    for (SendRecord& record : run) record.position = tail_;
    commit_send(shared ? encode_fan_out(out, run, geometry_.stream)
                       : encode_send(out, run.front(), geometry_.stream),
                run.size(), false);
    left = left.subspan(run.size());
  }
}

// Each message of a record keeps the record: it goes with the last one.
void Writer::commit_send(std::size_t bytes, std::size_t messages, bool relocated) {
  if (MUTANT(free_shared_body)) messages = 1;
  if (MUTANT(count_shared_body_twice) && messages > 1) messages *= 2;
  const std::uint64_t segment = geometry_.segment_of(tail_);
  image_.add_live(tail_);
  pool_.add_send(segment, bytes, relocated);
  while (--messages > 0) {
    image_.add_live(tail_);
    pool_.add_send(segment, 0, relocated);
  }
  commit(bytes);
}

LogPos Writer::append_relocated(const FoundSend& found, std::span<const std::size_t> existing,
                                Instant now) {
  wall_ = now;
  std::byte* const out = reserve(align_record(found.record.size()));
  const LogPos position = tail_;
  commit_send(found.shared
                  ? found.shared->encode_relocated(out, found.record, existing, geometry_.stream)
                  : encode_relocated(out, found.record, geometry_.stream),
              existing.size(), true);
  if (lazy_since_ == never) lazy_since_ = now;
  return position;
}

void Writer::append(std::span<const SegmentRecord> segments, Instant now) {
  wall_ = now;
  in_runs(segments, segments_max, [&](auto run) {
    commit(encode_segments(reserve(segments_bytes_max(run.size())), run, geometry_.stream));
  });
}

void Writer::append_receives(const Effects& effects) {
  std::span<const ReceiveRecord> rest(effects.receives);
  while (!rest.empty()) {
    const auto run = run_of(rest);
    commit(encode_receives(reserve(receives_bytes_max(run.size())), run, geometry_.stream));
    rest = rest.subspan(run.size());
  }
}

void Writer::append_deletes(const Effects& effects) {
  std::span<const DeleteRecord> rest(effects.deletes);
  while (!rest.empty()) {
    const auto run = run_of(rest);
    commit(encode_deletes(reserve(deletes_bytes_max(run.size())), run, geometry_.stream));
    rest = rest.subspan(run.size());
  }
}

// The count rises record by record with the deleted messages: each record alone is correct.
void Writer::append_task(const TaskRecord& record) {
  MoveTask task = record.task;
  std::span<const Seq> rest(record.deleted);
  CHECK(task.moved >= rest.size(), "{} moved, {} deleted", task.moved, rest.size());
  task.moved -= rest.size();
  do {
    const auto run = rest.first(std::min(rest.size(), batch_max));
    task.moved += run.size();
    commit(encode_task(reserve(task_bytes_max(task, run.size())), task, run, geometry_.stream));
    rest = rest.subspan(run.size());
  } while (!rest.empty());
}

void Writer::append_replays(std::span<const ReplayRecord> records) {
  for (const ReplayRecord& record : records)
    commit(encode_replay(reserve(replay_bytes(record)), record, geometry_.stream));
}

Lsn Writer::first_frame_from(Lsn lsn) const {
  CHECK(lsn <= tail_, "{} behind the end {}", lsn, tail_);
  for (std::size_t i = handed_; i < frames_.size(); ++i) {
    if (frames_[i].start >= lsn) return frames_[i].start;
  }
  CHECK(open_ && frame_start_ >= lsn, "no frame from {} on", lsn);
  return frame_start_;
}

std::byte* Writer::reserve(std::size_t bytes) {
  if (!open_ || tail_ + bytes > frame_limit_) begin_frame(bytes);
  return frame_memory_ + (tail_ - frame_start_);
}

void Writer::commit(std::size_t bytes) {
  tail_ += bytes;
  ++frame_records_;
  ++records_;
  CHECK(tail_ <= frame_limit_, "{} of {}", tail_, frame_limit_);
}

void Writer::begin_frame(std::size_t bytes) {
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

void Writer::close_frame() {
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

void Writer::submit(Instant now, std::uint64_t now_us, bool idle) {
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

void Writer::note_pending(std::uint64_t now_us) {
  if (unwritten() == 0) {
    pending_since_us_ = 0;
  } else if (pending_since_us_ == 0) {
    pending_since_us_ = std::max<std::uint64_t>(now_us, 1);
  }
}

void Writer::note_progress(std::uint64_t now_us) {
  if (progress_us_ == 0 || now_us < progress_us_) return;
  gap_us_max_ = std::max(gap_us_max_, now_us - progress_us_);
  progress_us_ = std::max<std::uint64_t>(now_us, 1);
}

// The rule of wal/log.h: no timer, no write of lazy records alone, a second write only for a good
// reason.
bool Writer::may_write(Instant now, std::uint64_t now_us, bool idle) const {
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
bool Writer::hand_over(std::uint64_t now_us) {
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

std::optional<Writer::Failure> Writer::reap(std::uint64_t now_us) {
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
  }
  advance();
  return std::nullopt;
}

Writer::Frame& Writer::frame_at(Lsn start) {
  for (std::size_t i = 0; i < handed_; ++i) {
    if (frames_[i].start == start) return frames_[i];
  }
  CHECK(false, "no frame at {} is under way", start);
}

// Advances durable_ over the finished frames from the oldest on, never past a gap.
void Writer::advance() {
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

Instant Writer::next_due() const {
  if (unwritten() == 0) return never;
  // The completion of a segment in preparation, or of a write under way, triggers the next submit.
  const Lsn next = handed_ < frames_.size() ? frames_[handed_].start : frame_start_;
  if (!pool_.ready(geometry_.segment_of(next))) return never;
  if (under_way_ > 0) return may_write(now_, now_us_, true) ? Instant{0} : never;
  return lazy_since_ == never ? never : lazy_since_ + lazy_max_;
}

}  // namespace pawl

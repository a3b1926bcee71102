// SPDX-License-Identifier: Apache-2.0
// RepairPlanner: follows the chain of frames and fills its gaps.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/check.h"
#include "wal/repair/frames.h"
#include "wal/repair/planner.h"
#include "wal/repair/salvage.h"
#include "wal/repair/sink.h"

namespace pawl {
namespace {

// Detects records from an earlier use of the file: a SEND whose number was assigned before, or
// settings older than the known ones.
class Age final : public QuietSink {
 public:
  explicit Age(const Known& known) : known_(known) {}
  bool stale = false;

  void send(const StoredMessage& message, std::size_t) override {
    const Known::Queue* const queue = known_.find(message.queue);
    if (queue == nullptr) return;
    const bool expected = !message.relocated || !queue->messages.contains(message.seq);
    stale |= expected && message.seq < queue->next;
  }
  void config(const ConfigRecord& record) override {
    const auto it = known_.configs().find(record.config->id);
    stale |=
        it != known_.configs().end() && ((it->second.gone && !record.gone) ||
                                         record.config->modified < it->second.config->modified);
  }

 private:
  const Known& known_;
};

}  // namespace

Result<void> RepairPlanner::run(std::vector<LogFrameHeader> frames) {
  CHECK(frames_.empty() && log_.empty(), "a planner makes one plan");
  for (const LogFrameHeader& frame : frames) epoch_seen_ = std::max(epoch_seen_, frame.epoch);
  drop_stale(frames, made_anew_ ? Manifest{} : manifest_);
  frames_ = std::move(frames);
  CHECK(frames_.empty() || frames_.back().epoch <= epoch_seen_, "epoch {} of {}",
        frames_.back().epoch, epoch_seen_);
  if (auto walked = walk(); !walked) return walked;
  if (!plan_.refused.empty()) return {};
  make_segments_whole();
  if (auto read = read_as_a_start(); !read) return read;
  return finish();
}

// The position where the first frame should begin.
Lsn RepairPlanner::origin() const {
  for (const auto& [number, file] : content_.files()) {
    if (!older(number)) break;
    const Lsn base = at_.segment_base(number);
    const auto frame = std::ranges::lower_bound(frames_, base, {}, &LogFrameHeader::lsn);
    if (frame != frames_.end() && frame->lsn < base + at_.segment_bytes)
      return at_.frame_position(base);
  }
  return at_.frame_position(at_.segment_base(manifest_.first));
}

Result<void> RepairPlanner::walk() {
  // The position up to which the manifest, or a frame from index i on, proves the log durable.
  std::vector<Lsn> proven(frames_.size() + 1, std::max(manifest_.durable, manifest_.clean));
  for (std::size_t i = frames_.size(); i-- > 0;)
    proven[i] = std::max(proven[i + 1], frames_[i].durable);
  all_.begin(Known::Part::log);
  tail_ = origin();
  for (std::size_t i = 0; i < frames_.size(); ++i) {
    const LogFrameHeader& frame = frames_[i];
    const bool first = !last_ && frame.lsn == tail_;
    if (!first && !follows(frame)) {
      if (tail_ >= begin() && proven[i] <= tail_) break;  // a torn end
      if (auto closed = close_gap(tail_, frame.lsn, &frame); !closed) return closed;
      if (!plan_.refused.empty()) return {};
    }
    if (auto taken = take(frame, false); !taken) return taken;
  }
  const Lsn promised = align_up(proven[0], block_bytes);
  return tail_ < promised ? close_gap(tail_, promised, nullptr) : Result<void>{};
}

// Fills the gap [from, to). `next` begins at `to`; null: none does, but the log reached `to`.
Result<void> RepairPlanner::close_gap(Lsn from, Lsn to, const LogFrameHeader* next) {
  CHECK(from <= to, "a gap from {} to {}", from, to);
  CHECK(next == nullptr || next->lsn == to, "a gap to {}, the next frame at {}", to,
        next != nullptr ? next->lsn : 0);
  const Lsn last_start = next != nullptr && next->prev != 0 ? next->lsn - next->prev : 0;
  bool joined = true;
  for (Lsn lsn = from; lsn < to;) {
    const std::uint64_t number = at_.segment_of(lsn);
    if (older(number) && !content_.there(number)) {
      lsn = at_.segment_base(number + 1);
      joined = false;
      continue;
    }
    // `next` is the first frame of its segment, and no frame lies between `last_start` and it: the
    // usable bytes of this segment ended here.
    const bool is_behind_last = last_start != 0 && lsn > last_start &&
                                number == at_.segment_of(last_start) && number < at_.segment_of(to);
    if (is_behind_last && lsn % at_.extent_bytes == 0 && content_.usable_bytes(number) == 0)
      content_.set_usable_bytes(number, at_.offset_of(lsn));
    if (at_.segment_of(content_.frame_position(lsn)) != number) {
      lsn = at_.segment_base(number + 1);
      continue;
    }
    const Lsn piece = content_.frame_position(lsn), piece_end = std::min(at_.extent_end(lsn), to);
    if (piece < piece_end) {
      if (auto closed = close_piece(piece, to, piece_end, last_start, next); !closed) return closed;
      joined = true;
    }
    lsn = at_.extent_end(lsn);
  }
  const bool chained = next == nullptr || !joined || !last_ || last_->lsn == last_start ||
                       at_.segment_of(last_->lsn) + 1 < at_.segment_of(to);
  if (!chained) {
    plan_.refused = fmt::format("{}: the frame does not follow any place a frame can have begun at",
                                describe(at_, to));
  }
  return {};
}

// Fills the part of a gap that lies in one extent.
Result<void> RepairPlanner::close_piece(Lsn from, Lsn to, Lsn piece_end, Lsn last_start,
                                        const LogFrameHeader* next) {
  CHECK(from < piece_end && piece_end <= to, "from {} to {} of {}", from, piece_end, to);
  CHECK(piece_end <= at_.extent_end(from), "from {} to {}", from, piece_end);
  const auto bytes = content_.from(from);
  if (!bytes) return std::unexpected(bytes.error());
  const std::uint32_t epoch = last_ ? last_->epoch : 0;
  std::vector<Lsn> starts = suspected_frames(bytes->first(piece_end - from), from, at_, epoch);
  // The last frame in the gap begins at `last_start`, and none begins after it.
  if (last_start >= from && last_start < piece_end) {
    std::erase_if(starts, [&](Lsn lsn) { return lsn >= last_start; });
    starts.push_back(last_start);
  }
  const bool begins_extent = from == at_.frame_position(at_.extent_of(from) * at_.extent_bytes);
  const bool exact = piece_end == to;
  if (starts.empty() && !begins_extent && !exact) return {};
  if (starts.empty() || starts.front() != from) starts.insert(starts.begin(), from);
  // Splits ranges above the largest frame size. A frame at `last_start` keeps its known length, and
  // a last range with an open end is not split.
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const Lsn end = i + 1 < starts.size() ? starts[i + 1] : piece_end;
    const bool known = starts[i] == last_start || (i + 1 == starts.size() && !exact);
    if (end - starts[i] > log_frame_bytes_max && !known)
      starts.insert(starts.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                    starts[i] + log_frame_bytes_max);
  }
  CHECK(starts.front() == from, "{} begins at {}", starts.front(), from);
  CHECK(starts.back() < piece_end, "{} ends at {}", starts.back(), piece_end);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const bool last = i + 1 == starts.size();
    if (auto rebuilt = rebuild(starts[i], last ? piece_end : starts[i + 1], !last || exact, next);
        !rebuilt)
      return rebuilt;
  }
  return {};
}

// Builds a frame at `from` with the whole records in [from, to).
Result<void> RepairPlanner::rebuild(Lsn from, Lsn to, bool exact, const LogFrameHeader* next) {
  CHECK(from < to, "{} {}", from, to);
  CHECK(to <= at_.extent_end(from), "{} {}", from, to);
  const auto found = content_.from(from);
  if (!found) return std::unexpected(found.error());
  const std::vector<std::byte> damaged(found->begin(),
                                       found->begin() + static_cast<std::ptrdiff_t>(to - from));
  LogFrameHeader was;
  std::memcpy(&was, damaged.data(), sizeof was);
  const std::uint32_t epoch = last_ ? last_->epoch : 0;
  const bool suspected = suspected_frame(damaged, from, at_, epoch);
  const bool told = suspected && was.length > log_frame_header_bytes && was.length <= to - from &&
                    (!exact || align_up(was.length, block_bytes) == to - from);
  Salvage salvage;
  if (suspected || exact) {
    salvage = salvage_frame(damaged, told ? was.length : 0, exact, at_.stream,
                            [&](std::span<const std::byte> record) {
                              Age age(all_);
                              return decode_records(record, 1, at_.stream, age) && !age.stale;
                            });
  } else {
    salvage.frame.resize(log_frame_header_bytes);
    salvage.lost_bytes = salvage.lost.unrecognized_bytes = to - from;
  }
  CHECK(salvage.frame.size() >= log_frame_header_bytes, "at {}", from);
  CHECK(salvage.frame.size() <= to - from, "{} bytes at {}", salvage.frame.size(), from);
  CHECK(!exact || align_up(salvage.frame.size(), block_bytes) == to - from, "{} of {} bytes at {}",
        salvage.frame.size(), to - from, from);
  LogFrameHeader header;
  header.length = static_cast<std::uint32_t>(salvage.frame.size());
  header.lsn = from;
  header.stream = at_.stream;
  header.epoch = last_ ? last_->epoch : next != nullptr ? next->epoch : 1;
  header.prev = last_                 ? static_cast<std::uint32_t>(from - last_->lsn)
                : from == block_bytes ? 0
                                      : static_cast<std::uint32_t>(block_bytes);
  header.records = salvage.records;
  header.wall_ms = last_ ? last_->wall_ms : next != nullptr ? next->wall_ms : 0;
  header.durable = from;
  std::memcpy(salvage.frame.data(), &header, sizeof header);
  seal_frame(salvage.frame);
  std::memcpy(&header, salvage.frame.data(), sizeof header);
  salvage.frame.resize(to - from);
  content_.put(from, std::move(salvage.frame));

  kept_ += salvage.kept;
  plan_.lost += salvage.lost_bytes;
  if (to > begin()) lost_bytes_ += salvage.lost_bytes;
  if (from >= manifest_.checkpoint && from < manifest_.checkpoint_end)
    lost_checkpoint_bytes_ += salvage.lost_bytes;
  if (!content_.there(at_.segment_of(from)))
    return take(header, true);  // make_segments_whole() reports the missing segment
  const std::string what = describe_guess(salvage.lost);
  plan_.said.push_back(
      fmt::format("{}: {}", describe(at_, from),
                  what.empty() ? "nothing is lost" : "lost, by what it says of itself: " + what));
  if (salvage.kept > 0) plan_.said.back() += fmt::format("; records kept: {}", salvage.kept);
  return take(header, true);
}

Result<void> RepairPlanner::take(const LogFrameHeader& header, bool rebuilt) {
  const auto bytes = content_.from(header.lsn);
  if (!bytes) return std::unexpected(bytes.error());
  // All numbers up to here are known, unless a segment before this frame is missing.
  if (header.lsn >= begin() && !before_ && last_ && header.lsn - header.prev == last_->lsn)
    before_ = all_.given();
  if (header.lsn >= begin() && !before_) before_.emplace();
  all_.at(header.lsn + log_frame_header_bytes);
  const auto read = decode_records(records_of(*bytes, header), header.records, at_.stream, all_);
  if (!read && read.error().code == Errc::version) return read;
  if (!read) {
    plan_.refused = fmt::format("{}: a whole frame holds a record that cannot be read ({})",
                                describe(at_, header.lsn), read.error().what);
    return {};
  }
  CHECK(!last_ || header.lsn >= tail_, "the frame at {} begins before {}", header.lsn, tail_);
  CHECK(end_of(header) <= at_.extent_end(header.lsn), "a frame from {} to {}", header.lsn,
        end_of(header));
  log_.emplace_back(header, rebuilt);
  last_ = header;
  tail_ = end_of(header);
  CHECK(tail_ > header.lsn && tail_ % block_bytes == 0, "a frame from {} to {}", header.lsn, tail_);
  return {};
}

// Completes the segments that recovery reads, up to the last one with a right header, and older
// segments with frames in the log.
void RepairPlanner::make_segments_whole() {
  std::uint64_t end = at_.segment_of(std::max(tail_, begin() + 1) - 1);
  for (const auto& [number, file] : content_.files()) {
    if (file.is_another >= 0 && !older(number) && number <= end) {
      plan_.refused =
          fmt::format("{} is {} by its header: give it its name back first", segment_name(number),
                      segment_name(static_cast<std::uint64_t>(file.is_another)));
    }
    if (file.header)
      end = std::max(end, number);  // each segment before it must exist and have full size
  }
  for (std::uint64_t n = manifest_.first; n <= end; ++n) content_.make_whole(n);
  for (const auto& [frame, rebuilt] : log_) {
    const std::uint64_t number = at_.segment_of(frame.lsn);
    if (older(number)) content_.make_whole(number);
  }
  for (const std::uint64_t number : content_.made_whole()) {
    const auto file = content_.files().find(number);
    const std::uint64_t bytes = file == content_.files().end() ? 0 : file->second.bytes;
    if (bytes == at_.segment_bytes) {
      plan_.said.push_back(
          fmt::format("{} has no header of this log: gets one", segment_name(number)));
      continue;
    }
    plan_.said.push_back(fmt::format(
        "{} {}: what was {} is lost, and nothing says what it was unless it is said here",
        segment_name(number),
        bytes == 0 ? "is missing, and is made anew" : "is not full size, and gets it back",
        bytes == 0 ? "in it" : fmt::format("behind byte {}", bytes)));
    if (!older(number) && bytes < at_.segment_bytes) lost_bytes_ += at_.segment_bytes - bytes;
  }
}

}  // namespace pawl

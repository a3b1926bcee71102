// SPDX-License-Identifier: Apache-2.0
#include "wal/repair/walk.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "core/base/check.h"
#include "wal/format/records.h"
#include "wal/repair/content.h"
#include "wal/repair/frames.h"
#include "wal/repair/manifests.h"
#include "wal/repair/sink.h"

namespace pawl {
namespace {

// Finds the live queues, and messages of the checkpoint whose segments are missing.
class Contents final : public QuietSink {
 public:
  Contents(const Geometry& geometry, WalkReport& report) : at_(geometry), report_(report) {}

  // An older segment was read up to `end`.
  void found(std::uint64_t segment, Lsn end) {
    CHECK(!begun_, "segment {} is not older than the checkpoint", segment);
    there_[segment] = end;
  }
  // Recovery reads from here on. Older records were only checked; they do not count.
  void begin() { begun_ = true; }
  void end() {
    CHECK(begun_, "the end before the beginning");
    for (const auto& [message, segment] : missed_) ++report_.missed[{segment, message.first}];
  }

  // A relocated message is readable at another place than the checkpoint's.
  void send(const StoredMessage& message, std::size_t) override {
    if (message.relocated) missed_.erase({message.queue, message.seq});
  }
  void delete_message(const DeleteRecord& record) override {
    missed_.erase({record.queue, record.seq});
  }
  void purge(const PurgeRecord& record) override {
    missed_.erase(missed_.lower_bound({record.queue, 0}),
                  missed_.lower_bound({record.queue, record.below}));
  }
  void task(const TaskRecord& record) override {
    for (const Seq seq : record.deleted) missed_.erase({record.task.source, seq});
  }
  void config(const ConfigRecord& record) override {
    if (!begun_) return;
    if (record.gone) {
      report_.queues.erase(record.config->id);
    } else {
      report_.queues.insert(record.config->id);
    }
  }
  void checkpoint(const CheckpointRecord& record) override {
    if (report_.manifest.checkpoint == 0) return;  // recovery reads no checkpoint
    if (const auto* index_entries = std::get_if<IndexEntriesRecord>(&record)) {
      for (const auto& entry : index_entries->entries)
        look_for(index_entries->queue, entry.seq, entry.position);
    } else if (const auto* tracked = std::get_if<TrackedMessagesRecord>(&record)) {
      for (const auto& entry : tracked->entries)
        look_for(tracked->queue, entry.seq, entry.position);
    }
  }

 private:
  void look_for(QueueId queue, Seq seq, LogPos position) {
    const std::uint64_t segment = at_.segment_of(position);
    const auto there = there_.find(segment);
    const bool read = there != there_.end() && position < there->second;
    if (begun_ && segment < report_.manifest.first && !read)
      missed_.insert({
          {queue, seq},
          segment
      });
  }

  const Geometry at_;
  WalkReport& report_;
  bool begun_ = false;
  std::map<std::uint64_t, Lsn> there_;
  std::map<std::pair<QueueId, Seq>, std::uint64_t> missed_;  // by message: its segment
};

class Walk {
 public:
  Walk(BlockingDisk& disk, const FrameVisitor& visit, WalkReport& report)
      : disk_(disk),
        visit_(visit),
        report_(report),
        at_{report.manifest.stream, report.manifest.segment_bytes, report.manifest.extent_bytes},
        contents_(at_, report) {}

  Result<void> run() {
    CHECK(report_.frames == 0, "{} frames were read before", report_.frames);
    if (!at_.valid()) return fail(Errc::corrupt, "the manifest's geometry");
    const Manifest& manifest = report_.manifest;
    Lsn begin = at_.frame_position(at_.segment_base(manifest.first));
    if (manifest.checkpoint != 0) {
      walk_older();
      begin = manifest.checkpoint;
    }
    contents_.begin();
    report_.end = begin;
    const Stop stop = walk(begin, UINT64_MAX);
    if (stop.fault != LogFault::none) judge(stop.at, stop.fault);
    contents_.end();
    return {};
  }

 private:
  struct Stop {
    Lsn at = 0;
    LogFault fault = LogFault::none;  // none: `end` is reached, or the segment is missing
  };

  // Walks the log before the checkpoint: whole segments with gaps between them, and then the
  // beginning of the checkpoint's segment.
  void walk_older() {
    const std::uint64_t first = report_.manifest.first;
    for (const std::uint64_t number : segments_in(disk_)) {
      if (number >= first) break;
      if (!enter(number, false)) continue;
      if (at_.segment_of(last_.lsn) + 1 != number) chained_ = false;
      walk_older(at_.frame_position(at_.segment_base(number)), at_.segment_base(number + 1));
      contents_.found(number, report_.end);
    }
    if (at_.segment_of(last_.lsn) + 1 != first) chained_ = false;
    if (enter(first, false))
      walk_older(at_.frame_position(at_.segment_base(first)), report_.manifest.checkpoint);
  }

  void walk_older(Lsn from, Lsn end) {
    for (Stop stop = walk(from, end); stop.fault != LogFault::none; stop = walk(stop.at, end)) {
      // If a whole frame does not follow the last one, the missing frames are before it.
      const bool whole = stop.fault >= LogFault::epoch;
      report_.damage.push_back(fmt::format("{}: {}, but a checkpoint follows",
                                           describe(whole ? report_.end : stop.at),
                                           pawl::describe(whole ? LogFault::magic : stop.fault)));
      chained_ = false;
      if (!whole) return;
    }
  }

  // Takes frames up to `end`, or until none follows.
  Stop walk(Lsn lsn, Lsn end) {
    while (lsn < end) {
      if (at_.segment_of(lsn) != segment_ && !enter(at_.segment_of(lsn), true)) return {lsn};
      const FrameCheck check = look(lsn);
      if (check.fault == LogFault::none) {
        take(check.header, lsn);
        lsn = frame_position(lsn + align_up(check.header.length, block_bytes));
        continue;
      }
      // The rest of an extent is left empty when the next frame did not fit.
      const Lsn next = frame_position(at_.extent_end(lsn));
      const bool begins_extent = lsn == at_.frame_position(at_.extent_of(lsn) * at_.extent_bytes);
      const bool ends_here = next == at_.frame_position(end) && !is_of_now(check);
      CHECK(next > lsn, "from {} to {}", lsn, next);
      if (begins_extent || (!ends_here && !follows(next))) return {lsn, check.fault};
      lsn = next;
    }
    return {lsn};
  }

  // Opens a segment. False: it is missing, too short, or without a right header.
  bool enter(std::uint64_t number, bool needed) {
    const std::string name = segment_name(number);
    const auto content = read_file(disk_, name, 0, at_.segment_bytes);
    const Lsn base = at_.segment_base(number);
    std::string fault;
    if (!content)
      fault = "cannot be read";
    else if (content->size() < at_.segment_bytes)
      fault = "is shorter than a segment";
    else if (const auto header = read_segment_header(ConstBlock(content->data(), block_bytes));
             !header || header->stream != at_.stream || header->number != number ||
             usable_bytes(*header, at_) == 0)
      fault = "has no header of this log";
    else
      usable_ = usable_bytes(*header, at_);
    if (fault.empty()) {
      CHECK(usable_ > 0 && usable_ <= at_.segment_bytes, "{} bytes of {}", usable_, name);
      segment_ = number;
      content_ = *content;
      return true;
    }
    if (needed && base < durable())
      report_.damage.push_back(
          fmt::format("{}: {}, but the log was durable up to {}", name, fault, durable()));
    return false;
  }

  // The first position from `lsn` on where a frame may begin, by the usable bytes of the open
  // segment.
  Lsn frame_position(Lsn lsn) const {
    const bool fits = at_.segment_of(lsn) != segment_ || at_.offset_of(lsn) < usable_;
    return at_.frame_position(fits ? lsn : at_.segment_base(segment_ + 1));
  }

  Lsn durable() const {
    return std::max({report_.manifest.durable, report_.manifest.clean, last_.durable});
  }

  std::span<const std::byte> extent_from(Lsn lsn) const {
    CHECK(at_.segment_of(lsn) == segment_, "segment {} is open for {}", segment_, lsn);
    CHECK(content_.size() == at_.segment_bytes, "{} bytes of segment {}", content_.size(),
          segment_);
    return std::span(content_).subspan(at_.offset_of(lsn), at_.extent_end(lsn) - lsn);
  }

  // Checks the frame at `lsn`, and that it follows the last one.
  FrameCheck look(Lsn lsn) const {
    FrameCheck check = check_frame(extent_from(lsn), at_.stream, lsn);
    if (check.fault != LogFault::none || !chained_) return check;
    if (check.header.epoch < last_.epoch)
      check.fault = LogFault::epoch;
    else if (check.header.prev != lsn - last_.lsn)
      check.fault = LogFault::prev;
    return check;
  }

  // Whether a damaged frame is current, and not the rest of a torn end that the log overwrote.
  bool is_of_now(const FrameCheck& check) const {
    return check.fault > LogFault::lsn && check.fault < LogFault::epoch &&
           check.header.epoch >= last_.epoch;
  }

  // Whether the next frame is at `lsn`, which may be in the next segment.
  bool follows(Lsn lsn) {
    const std::uint64_t segment = segment_;
    if (at_.segment_of(lsn) != segment && !enter(at_.segment_of(lsn), true)) return false;
    const bool found = look(lsn).fault == LogFault::none;
    if (!found && segment_ != segment) enter(segment, true);
    return found;
  }

  void take(const LogFrameHeader& header, Lsn lsn) {
    CHECK(header.lsn == lsn, "the frame of {} at {}", header.lsn, lsn);
    CHECK(!chained_ || header.prev == lsn - last_.lsn, "the frame at {} does not follow {}", lsn,
          last_.lsn);
    CHECK(!chained_ || header.epoch >= last_.epoch, "epoch {} after {}", header.epoch, last_.epoch);
    if (report_.frames == 0 || at_.segment_of(lsn) != at_.segment_of(last_.lsn)) ++report_.segments;
    last_ = header;
    chained_ = true;
    ++report_.frames;
    CHECK(report_.segments <= report_.frames, "{} segments, {} frames", report_.segments,
          report_.frames);
    report_.records += header.records;
    report_.bytes += header.length;
    report_.end = end_of(header);
    CHECK(report_.end > lsn, "{} {}", report_.end, lsn);
    const auto records = records_of(extent_from(lsn), header);
    if (const auto decoded = decode_records(records, header.records, header.stream, contents_);
        !decoded)
      report_.damage.push_back(fmt::format("{}: {}", describe(lsn), decoded.error().what));
    if (visit_) visit_(report_.manifest, header, records);
  }

  // Decides whether the place without a frame at `lsn` is a torn tail or damage.
  void judge(Lsn lsn, LogFault fault) {
    CHECK(fault != LogFault::none, "the frame at {} is whole", lsn);
    // Other faults prove nothing: a reused segment is full of old bytes.
    report_.torn =
        fault == LogFault::length || fault == LogFault::hash || fault == LogFault::padding;
    Lsn proven = durable();
    for (Lsn later = lsn + block_bytes; at_.segment_of(later) == segment_; later += block_bytes) {
      const FrameCheck check = check_frame(extent_from(later), at_.stream, later);
      if (check.fault == LogFault::none && check.header.epoch >= last_.epoch)
        proven = std::max(proven, check.header.durable);
    }
    if (proven > lsn)
      report_.damage.push_back(fmt::format("{}: {}, but the log was durable up to {}",
                                           describe(lsn), pawl::describe(fault), proven));
  }

  std::string describe(Lsn lsn) const { return pawl::describe(at_, lsn); }

  BlockingDisk& disk_;
  const FrameVisitor& visit_;
  WalkReport& report_;
  const Geometry at_;
  Contents contents_;
  std::uint64_t segment_ = UINT64_MAX;
  std::uint64_t usable_ = 0;  // of the open segment, in bytes
  std::vector<std::byte> content_;
  LogFrameHeader last_{};
  bool chained_ = false;  // the next frame must follow last_
};

}  // namespace

Result<WalkReport> walk_log(BlockingDisk& disk, const FrameVisitor& visit) {
  const auto manifests = read_manifests(disk);
  if (!manifests) return std::unexpected(manifests.error());
  if (manifests->files == 0) return fail(Errc::invalid, "no log in this directory");
  if (!manifests->newest) return fail(Errc::corrupt, "neither manifest is whole");
  WalkReport report{.manifest = *manifests->newest};
  Walk walk(disk, visit, report);
  if (const auto done = walk.run(); !done) return std::unexpected(done.error());
  return report;
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "wal/repair/frames.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/check.h"
#include "wal/format/records.h"
#include "wal/repair/sink.h"

namespace pawl {
namespace {

// Detects the records of a checkpoint in a frame, and the first records of one.
class CheckpointMarks final : public QuietSink {
 public:
  bool begins = false, any = false;

  // Only the first slice holds the next queue id, as HEADS of no queue; a 0 there fills a gap.
  void head(const HeadRecord& record) override {
    if (record.reserved) return;
    any |= record.next_seq > 0;
    begins |= record.queue == QueueId::none && record.next_seq > 0;
  }
  void checkpoint(const CheckpointRecord&) override { any = true; }
};

struct Span {
  std::size_t begin = 0, end = 0;  // indexes of frames; `end` is exclusive
};

Result<std::vector<Span>> checkpoints(LogContent& content,
                                      const std::vector<LogFrameHeader>& frames) {
  std::vector<Span> found;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const auto bytes = content.from(frames[i].lsn);
    if (!bytes) return std::unexpected(bytes.error());
    CheckpointMarks marks;
    (void)decode_records(records_of(*bytes, frames[i]), frames[i].records, frames[i].stream, marks);
    // The frame before may hold settings of the first slice.
    const bool has_before = i > 0 && frames[i].lsn - frames[i].prev == frames[i - 1].lsn;
    if (marks.begins) found.push_back({has_before ? i - 1 : i, i + 1});
    if (marks.any && !found.empty()) found.back().end = i + 1;
    CHECK(found.empty() || found.back().begin < found.back().end, "frames {} to {}",
          found.back().begin, found.back().end);
  }
  return found;
}

// The first segment of the unbroken run that ends with segment `last`.
std::uint64_t unbroken_from(const LogContent& content, std::uint64_t last) {
  while (last > 0 && content.there(last - 1)) --last;
  return last;
}

}  // namespace

Result<std::vector<LogFrameHeader>> whole_frames(LogContent& content) {
  const Geometry& at = content.geometry();
  std::vector<LogFrameHeader> frames;
  for (const auto& [number, file] : content.files()) {
    const Lsn end = at.segment_base(number + 1);
    for (Lsn lsn = at.segment_base(number) + block_bytes; lsn < end;) {
      const auto bytes = content.from(lsn);
      if (!bytes) return std::unexpected(bytes.error());
      const FrameCheck check = check_frame(*bytes, at.stream, lsn);
      if (check.fault == LogFault::version) return fail(Errc::version, "frame version");
      if (check.fault == LogFault::none) {
        CHECK(frames.empty() || end_of(frames.back()) <= lsn, "the frame at {} ends behind {}",
              frames.back().lsn, lsn);
        frames.push_back(check.header);
      }
      lsn +=
          check.fault == LogFault::none ? align_up(check.header.length, block_bytes) : block_bytes;
    }
  }
  return frames;
}

void drop_stale(std::vector<LogFrameHeader>& frames, const Manifest& manifest) {
  std::uint32_t epoch = 0;
  std::erase_if(frames, [&](const LogFrameHeader& frame) {
    // A stale frame: the log continued in a newer epoch at its place, or before it.
    if (frame.epoch < epoch) return true;
    if (frame.lsn >= manifest.durable && frame.epoch < manifest.epoch) return true;
    epoch = frame.epoch;
    return false;
  });
  // Keeps the `prev` chain of the last frame; other frames lie in the unused rest of an extent.
  std::vector<LogFrameHeader> on_the_way;
  Lsn before = UINT64_MAX;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    if (frame->lsn > before) continue;
    on_the_way.push_back(*frame);
    before = frame->prev <= frame->lsn ? frame->lsn - frame->prev : frame->lsn;
    if (frame->prev == 0) before = frame->lsn;
  }
  std::ranges::reverse(on_the_way);
  CHECK(std::ranges::is_sorted(on_the_way, {}, &LogFrameHeader::lsn), "{} frames are out of order",
        on_the_way.size());
  frames = std::move(on_the_way);
}

bool suspected_frame(std::span<const std::byte> bytes, Lsn at, const Geometry& geometry,
                     std::uint32_t epoch) {
  if (bytes.size() < log_frame_header_bytes) return false;
  LogFrameHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  const int right = (header.magic == frame_magic ? 1 : 0) + (header.lsn == at ? 1 : 0) +
                    (header.stream == geometry.stream ? 1 : 0);
  return right >= 2 && header.epoch >= epoch;
}

std::vector<Lsn> suspected_frames(std::span<const std::byte> bytes, Lsn from,
                                  const Geometry& geometry, std::uint32_t epoch) {
  CHECK(from % block_bytes == 0, "at {}", from);
  std::vector<Lsn> found;
  for (std::size_t skip = 0; skip < bytes.size(); skip += block_bytes) {
    if (suspected_frame(bytes.subspan(skip), from + skip, geometry, epoch))
      found.push_back(from + skip);
  }
  return found;
}

Result<std::vector<LikelyManifest>> likely_manifests(LogContent& content,
                                                     const std::vector<LogFrameHeader>& frames) {
  std::vector<LikelyManifest> likely;
  if (frames.empty()) return likely;
  const Geometry& at = content.geometry();
  const auto found = checkpoints(content, frames);
  if (!found) return std::unexpected(found.error());
  Manifest base{.stream = at.stream,
                .segment_bytes = at.segment_bytes,
                .extent_bytes = at.extent_bytes,
                .generation = 0,
                .epoch = frames.back().epoch};
  const std::uint64_t unbroken = unbroken_from(content, at.segment_of(frames.back().lsn));
  const auto with = [&](const Span& checkpoint) {
    CHECK(checkpoint.begin < checkpoint.end, "{} {}", checkpoint.begin, checkpoint.end);
    CHECK(checkpoint.end <= frames.size(), "{} of {}", checkpoint.end, frames.size());
    Manifest manifest = base;
    manifest.checkpoint = frames[checkpoint.begin].lsn;
    manifest.checkpoint_end = frames[checkpoint.end - 1].lsn + frames[checkpoint.end - 1].length;
    manifest.first = at.segment_of(manifest.checkpoint);
    CHECK(manifest.checkpoint < manifest.checkpoint_end, "a checkpoint from {} to {}",
          manifest.checkpoint, manifest.checkpoint_end);
    return manifest;
  };
  // Within an epoch, a checkpoint begins only after the one before is complete.
  for (std::size_t i = found->size(); i-- > 1;) {
    const Span& checkpoint = (*found)[i - 1];
    const Span& next = (*found)[i];
    if (frames[checkpoint.end - 1].epoch != frames[next.begin].epoch ||
        frames[checkpoint.begin].epoch != frames[next.begin].epoch)
      continue;
    likely.push_back({with(checkpoint), true});
    break;
  }
  if (unbroken == 0) likely.push_back({base, true});
  if (!found->empty()) likely.push_back({with(found->back()), false});
  std::erase_if(likely, [&](const LikelyManifest& l) { return l.manifest.first < unbroken; });
  if (likely.empty()) {
    base.first = unbroken;
    likely.push_back({base, false});
  }
  CHECK(likely.size() <= 3, "{} manifests", likely.size());
  return likely;
}

}  // namespace pawl

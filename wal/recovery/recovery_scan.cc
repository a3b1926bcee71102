// SPDX-License-Identifier: Apache-2.0
// Recovery: reads the frames of the checkpoint and of the log behind its begin.
#include <fmt/core.h>

#include <algorithm>

#include "core/base/check.h"
#include "core/base/mutant.h"
#include "wal/recovery/recovery_steps.h"

namespace pawl {

// The position where reading the log begins.
Lsn Recovery::begin() const {
  return manifest_.checkpoint != 0 ? manifest_.checkpoint : geometry_.segment_base(manifest_.first);
}

// Stops at a damaged frame: the second reading decides its meaning.
Result<void> Recovery::recover_checkpoint() {
  CHECK(!of_checkpoint_ && report_.frames == 0, "{} frames", report_.frames);
  of_checkpoint_ = true;
  tail_ = manifest_.checkpoint;
  while (tail_ < manifest_.checkpoint_end) {
    const auto found = next_frame();
    if (!found) return std::unexpected(found.error());
    if (found->check.fault != LogFault::none) break;
    if (auto recovered = recover_frame(*found); !recovered) return recovered;
  }
  of_checkpoint_ = false;
  scratch_extent_ = none;
  report_ = {};
  last_frame_ = 0;
  epoch_ = 0;
  return {};
}

Result<void> Recovery::recover_frames() {
  tail_ = begin();
  for (;;) {
    const auto found = next_frame();
    if (!found) return std::unexpected(found.error());
    if (found->check.fault == LogFault::none) {
      if (auto recovered = recover_frame(*found); !recovered) return recovered;
      continue;
    }
    if (auto looked = look_ahead(); !looked) return looked;
    return judge(*found);
  }
}

// A frame follows at once or, if it did not fit into the extent, at the start of the next one;
// `prev` shows whether a frame between them is missing.
Result<Recovery::Found> Recovery::next_frame() {
  const auto here = look(log_->pool_.frame_position(tail_));
  // The first frame must lie where reading begins: without a frame before it, `prev` proves
  // nothing.
  if (!here || here->check.fault == LogFault::none || last_frame_ == 0 ||
      tail_ % geometry_.extent_bytes == 0) {
    return here;
  }
  const auto next = look(log_->pool_.frame_position(geometry_.extent_end(tail_)));
  if (!next || next->check.fault == LogFault::none) return next;
  const bool next_is_ours = here->check.fault <= LogFault::lsn && next->check.fault > LogFault::lsn;
  return next_is_ours ? next : here;
}

Result<Recovery::Found> Recovery::look(Lsn at) {
  Found found{at, {}};
  if (geometry_.segment_of(at) >= whole_end_) return found;
  const auto memory = load(geometry_.extent_of(at));
  if (!memory) return std::unexpected(memory.error());
  const std::uint64_t skip = at % geometry_.extent_bytes;
  found.check = check_frame({*memory + skip, geometry_.extent_bytes - skip}, geometry_.stream, at);
  const LogFrameHeader& header = found.check.header;
  if (found.check.fault == LogFault::version) {
    return refuse(Errc::version, fmt::format("{}: the frame was written by a newer version ({})",
                                             describe(at), header.version));
  }
  if (found.check.fault != LogFault::none) return found;
  // The very first frame of a log has no predecessor; the predecessor of the first remaining frame
  // is unknown.
  const bool begins = manifest_.first > 0 || manifest_.checkpoint > 0;
  const bool follows =
      last_frame_ == 0 ? (begins || header.prev == 0) : at - last_frame_ == header.prev;
  if (stale(header) && !MUTANT(ignore_epoch)) {
    found.check.fault = LogFault::epoch;
  } else if (!follows) {
    found.check.fault = LogFault::prev;
  }
  return found;
}

// The log continued without this frame in a newer epoch: at its position or before it.
bool Recovery::stale(const LogFrameHeader& header) const {
  return header.epoch < epoch_ ||
         (header.lsn >= manifest_.durable && header.epoch < manifest_.epoch);
}

// Extents of the checkpoint reading are not kept: most bytes between its slices are read again.
Result<std::byte*> Recovery::load(std::uint64_t extent) {
  Image& image = log_->image_;
  if (!of_checkpoint_) {
    if (image.has(extent)) return image.at(extent * geometry_.extent_bytes);
    const auto memory = read_extent(extent, image.open(extent));
    // The bytes before the first frame read are not verified.
    if (extent == geometry_.extent_of(begin())) image.doubt(extent);
    return memory;
  }
  if (scratch_extent_ == extent) return scratch_.data();
  if (!scratch_) scratch_ = PageBlock(geometry_.extent_bytes);
  scratch_extent_ = extent;
  return read_extent(extent, scratch_.data());
}

Result<std::byte*> Recovery::read_extent(std::uint64_t extent, std::byte* memory) {
  const Lsn lsn = extent * geometry_.extent_bytes;
  CHECK(geometry_.segment_of(lsn) < whole_end_, "extent {} behind segment {}", extent, whole_end_);
  const FileId file = log_->pool_.file(geometry_.segment_of(lsn));
  const auto bytes = read(file, geometry_.offset_of(lsn), {memory, geometry_.extent_bytes});
  if (!bytes) return std::unexpected(bytes.error());
  return memory;
}

// The number of bytes read; the rest is filled with zeros.
Result<std::uint64_t> Recovery::read(FileId file, std::uint64_t offset, std::span<std::byte> into) {
  const auto bytes = disk_.read_now(file, offset, into);
  if (!bytes) return pass_on(bytes.error(), "reading a segment");
  CHECK(*bytes <= into.size(), "{} of {} bytes", *bytes, into.size());
  std::ranges::fill(into.subspan(*bytes), std::byte{0});
  read_ += into.size();
  sink_.progress(read_, to_read_);
  return *bytes;
}

Result<void> Recovery::recover_frame(const Found& found) {
  const LogFrameHeader& header = found.check.header;
  CHECK(found.at >= tail_, "a frame at {}, the tail at {}", found.at, tail_);
  CHECK(found.at % block_bytes == 0, "a frame at {}", found.at);
  if (!of_checkpoint_) log_->image_.settle(geometry_.extent_of(found.at));
  records_at_ = found.at + log_frame_header_bytes;
  records_end_ = found.at + header.length;
  const auto extent = load(geometry_.extent_of(found.at));
  if (!extent) return std::unexpected(extent.error());
  const std::span<const std::byte> records(*extent + records_at_ % geometry_.extent_bytes,
                                           header.length - log_frame_header_bytes);
  records_ = records.data();
  auto read = decode_records(records, header.records, geometry_.stream, *this);
  if (read && bad_position_) read = fail(Errc::corrupt, "a position behind it");
  if (!read && read.error().code == Errc::version) {
    return refuse(
        Errc::version,
        fmt::format("{}: a frame holds {} {}, which a newer version wrote and this one does "
                    "not know; use the pawl that wrote it, or a newer one",
                    describe(found.at), name_of(unknown_.kind), unknown_.value));
  }
  if (!read) {
    return refuse(read.error().code,
                  fmt::format("{}: a whole frame holds a record that cannot be read ({})",
                              describe(found.at), read.error().what));
  }
  tail_ = align_up(found.at + header.length, block_bytes);
  CHECK(tail_ <= geometry_.extent_end(found.at), "a frame from {} to {}", found.at, tail_);
  if (of_checkpoint_) checkpoint_bytes_ += tail_ - found.at;
  last_frame_ = found.at;
  epoch_ = header.epoch;
  epoch_seen_ = std::max(epoch_seen_, epoch_);
  ++report_.frames;
  report_.records += header.records;
  report_.bytes += header.length;
  report_.newest = std::max(report_.newest, Instant{header.wall_ms});
  return {};
}

}  // namespace pawl

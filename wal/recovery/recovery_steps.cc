// SPDX-License-Identifier: Apache-2.0
#include "wal/recovery/recovery_steps.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "core/base/check.h"

namespace pawl {
namespace {

std::string sizes_text(const Geometry& sizes) {
  return fmt::format(
      "segments of {} bytes in extents of {}. An extent is a power of two from {} to {} bytes, a "
      "segment a multiple of it from {} to {}",
      sizes.segment_bytes, sizes.extent_bytes, extent_bytes_min, extent_bytes_max,
      segment_bytes_min, segment_bytes_max);
}

}  // namespace

Result<std::unique_ptr<Log>> open_log(Disk& disk, const LogOptions& options, RecoverySink& sink,
                                      RecoveryReport& report, std::string& complaint) {
  return Recovery(disk, options, sink, report, complaint).run();
}

Recovery::~Recovery() {
  for (const SegmentFile& segment : segments_) {
    if (!segment.adopted && segment.file != FileId::none) disk_.close(segment.file);
  }
}

Result<std::unique_ptr<Log>> Recovery::run() {
  CHECK(!log_, "recovery runs once");
  const Geometry asked{options_.stream, options_.segment_bytes, options_.extent_bytes};
  if (options_.spare_segments == 0)
    return refuse(Errc::invalid, "the log needs at least one spare segment");
  if (!asked.valid())
    return refuse(Errc::invalid, "the log's options are out of range: " + sizes_text(asked));
  const auto listed = disk_.list();
  if (!listed) return pass_on(listed.error(), "listing the directory");
  auto files = std::make_unique<ManifestFiles>(disk_);
  const auto manifest = files->open();
  if (!manifest) return pass_on(manifest.error(), "reading the manifest");
  const bool segments =
      std::ranges::any_of(*listed, [](const FileInfo& f) { return segment_number(f.name) >= 0; });
  report_.absence = absence_of(*manifest, segments, options_.stream, options_.membership);
  if (*manifest) {
    report_.found_stream = (*manifest)->stream;
    report_.found_start = (*manifest)->start;
  }
  if (report_.absence != LogAbsence::none) return refuse(Errc::corrupt, absence_text());
  if (!*manifest && segments) {
    return refuse(Errc::corrupt,
                  "MANIFEST.a and MANIFEST.b are both missing or damaged, but there are segments; "
                  "restore the directory from a copy");
  }
  if (!*manifest || (*manifest)->epoch == 0) return create(std::move(files), *listed);

  manifest_ = **manifest;
  geometry_ = {manifest_.stream, manifest_.segment_bytes, manifest_.extent_bytes};
  if (!geometry_.valid())
    return refuse(Errc::corrupt, "the manifest's sizes are out of range: " + sizes_text(geometry_) +
                                     "; restore the directory from a copy");
  log_.reset(new Log(disk_, geometry_, options_, std::move(files)));
  if (auto opened = open_segments(*listed); !opened) return std::unexpected(opened.error());
  if (auto adopted = adopt_segments(); !adopted) return std::unexpected(adopted.error());
  log_->image_.start(geometry_.extent_of(geometry_.segment_base(log_->pool_.first())));
  log_->image_.skip_to(geometry_.extent_of(begin()));
  to_read_ = geometry_.segment_base(whole_end_) - begin() + manifest_.checkpoint_end -
             manifest_.checkpoint;
  if (auto recovered = recover_checkpoint(); !recovered) return std::unexpected(recovered.error());
  if (auto recovered = recover_frames(); !recovered) return std::unexpected(recovered.error());
  return finish();
}

std::string Recovery::absence_text() const {
  switch (report_.absence) {
    case LogAbsence::another_log:
      return fmt::format("its files are those of another log: {:016x}, expected {:016x}",
                         report_.found_stream, options_.stream);
    case LogAbsence::another_time:
      return fmt::format(
          "it is a copy from another time: its last start was number {}, the directory's number {}",
          report_.found_start, options_.membership.starts);
    default:
      return "it is not there, and it was made: there are no files of it";
  }
}

// A new log, or one whose creation was interrupted: the manifest has epoch 0 until the first
// segment exists, and nothing was acknowledged.
Result<std::unique_ptr<Log>> Recovery::create(std::unique_ptr<ManifestFiles> files,
                                              const std::vector<FileInfo>& listed) {
  geometry_ = {options_.stream, options_.segment_bytes, options_.extent_bytes};
  Manifest manifest;
  manifest.stream = geometry_.stream;
  manifest.segment_bytes = geometry_.segment_bytes;
  manifest.extent_bytes = geometry_.extent_bytes;
  manifest.first = options_.first_segment;
  if (auto written = files->write_now(manifest); !written)
    return pass_on(written.error(), "writing the manifest");
  for (const FileInfo& file : listed) {
    if (segment_number(file.name) < 0) continue;
    if (auto removed = disk_.remove(file.name); !removed)
      return pass_on(removed.error(), "removing an unfinished segment");
  }
  log_.reset(new Log(disk_, geometry_, options_, std::move(files)));
  tail_ = geometry_.segment_base(manifest.first);
  log_->pool_.start(manifest.first);
  for (const FileInfo& file : listed)
    if (const auto aside = set_aside_number(file.name); aside >= 0)
      log_->pool_.adopt_set_aside(static_cast<std::uint64_t>(aside));
  log_->image_.start(geometry_.extent_of(tail_));
  if (auto created = log_->pool_.create_now(); !created)
    return pass_on(created.error(), "making the first segment");
  report_.created = true;
  return finish();
}

// --- segments ---

Result<void> Recovery::open_segments(const std::vector<FileInfo>& listed) {
  for (const FileInfo& info : listed) {
    if (const auto aside = set_aside_number(info.name); aside >= 0)
      log_->pool_.adopt_set_aside(static_cast<std::uint64_t>(aside));
    const std::int64_t number = segment_number(info.name);
    if (number < 0) continue;
    const auto file = disk_.open(info.name);
    if (!file) return pass_on(file.error(), "opening a segment");
    segments_.push_back({static_cast<std::uint64_t>(number), info.bytes, *file});
    // Writes of a crashed process may be in a cache only: they are made durable before they are
    // trusted. Segments older than the checkpoint were durable before it.
    if (static_cast<std::uint64_t>(number) < manifest_.first) continue;
    if (auto synced = disk_.sync_now(*file); !synced)
      return pass_on(synced.error(), "flushing a segment");
  }
  if (auto synced = disk_.sync_dir_now(); !synced)
    return pass_on(synced.error(), "flushing the directory");
  std::ranges::sort(segments_, {}, &SegmentFile::number);
  return {};
}

Result<bool> Recovery::whole(SegmentFile& segment) {
  PageBlock block(2 * block_bytes);
  const auto bytes = disk_.read_now(segment.file, 0, block.span());
  if (!bytes) return pass_on(bytes.error(), "reading a segment's header");
  if (*bytes < block_bytes) return false;
  const auto header = read_segment_header(ConstBlock(block.data(), block_bytes));
  const std::string name = segment_name(segment.number);
  if (!header && header.error().code == Errc::version) {
    return refuse(Errc::version, fmt::format("{} was written by a newer version", name));
  }
  if (!header || header->stream != geometry_.stream || header->number != segment.number ||
      header->base != geometry_.segment_base(segment.number) ||
      usable_bytes(*header, geometry_) == 0) {
    return false;
  }
  if (segment.bytes != geometry_.segment_bytes) {
    return refuse(Errc::corrupt,
                  fmt::format("{} has {} bytes, expected {}; restore the directory from a copy",
                              name, segment.bytes, geometry_.segment_bytes));
  }
  segment.begun = begun(block.span(), segment.number);
  segment.usable = usable_bytes(*header, geometry_);
  return true;
}

// The write time of the first frame behind a segment's header. Only the frame's header is checked:
// the time is not worth more.
Instant Recovery::begun(std::span<const std::byte> beginning, std::uint64_t number) const {
  CHECK(beginning.size() == 2 * block_bytes, "{} bytes", beginning.size());
  LogFrameHeader first;
  std::memcpy(&first, beginning.data() + block_bytes, sizeof first);
  const bool ours = first.magic == frame_magic && first.stream == geometry_.stream &&
                    first.lsn == geometry_.segment_base(number) + block_bytes;
  return ours ? Instant{first.wall_ms} : Instant{};
}

// The pool makes segments ready in rising order, each durable before the next. So from the first
// segment to read, a whole segment behind an incomplete or missing one means damage. Any older
// segment may be missing; whether it is needed is known later.
Result<void> Recovery::adopt_segments() {
  SegmentPool& pool = log_->pool_;
  std::erase_if(segments_, [](const SegmentFile& s) { return s.adopted; });
  pool.start(segments_.empty() ? manifest_.first
                               : std::min(manifest_.first, segments_.front().number));
  whole_end_ = manifest_.first;
  CHECK(pool.first() <= whole_end_, "segment {} of {}", pool.first(), whole_end_);
  for (SegmentFile& segment : segments_) {
    if (segment.number < manifest_.first) {
      if (auto adopted = adopt_older(segment); !adopted) return adopted;
      continue;
    }
    const auto is_whole = whole(segment);
    if (!is_whole) return std::unexpected(is_whole.error());
    segment.whole = *is_whole;
    if (!segment.whole) continue;
    if (segment.number != whole_end_) {
      return refuse(
          Errc::corrupt,
          fmt::format("{} is missing or its header is damaged, and {} follows it; restore the "
                      "directory from a copy",
                      segment_name(whole_end_), segment_name(segment.number)));
    }
    pool.adopt(segment.number, segment.file, segment.usable, segment.begun);
    segment.adopted = true;
    ++whole_end_;
  }
  if (whole_end_ == manifest_.first) {
    return refuse(
        Errc::corrupt,
        fmt::format("{}, where the log begins, is missing or its header is damaged; restore the "
                    "directory from a copy",
                    segment_name(manifest_.first)));
  }
  return {};
}

// A segment with a damaged header is adopted and reported: each record in it has its own checksum.
// A file whose header names another segment is retired: it is not the segment of its name.
Result<void> Recovery::adopt_older(SegmentFile& segment) {
  PageBlock block(2 * block_bytes);
  const auto bytes = disk_.read_now(segment.file, 0, block.span());
  if (!bytes) return pass_on(bytes.error(), "reading a segment's header");
  const auto header = read_segment_header(ConstBlock(block.data(), block_bytes));
  const bool anothers = *bytes >= block_bytes && header &&
                        (header->stream != geometry_.stream || header->number != segment.number);
  segment.adopted = true;
  if (segment.bytes == geometry_.segment_bytes && !anothers) {
    if (!header) damaged_headers_.push_back(segment.number);
    const std::uint64_t usable = header ? usable_bytes(*header, geometry_) : 0;
    log_->pool_.adopt(segment.number, segment.file, usable == 0 ? geometry_.segment_bytes : usable,
                      begun(block.span(), segment.number));
  } else {
    log_->pool_.adopt_retired(segment.number, segment.file, false);
  }
  return {};
}

std::string Recovery::describe(Lsn lsn) const {
  return fmt::format("{} offset {}", segment_name(geometry_.segment_of(lsn)),
                     geometry_.offset_of(lsn));
}

std::unexpected<Error> Recovery::refuse(Errc code, std::string complaint) {
  complaint_ = std::move(complaint);
  return fail(code, "recovery");
}

std::unexpected<Error> Recovery::pass_on(Error error, std::string_view doing) {
  complaint_ = fmt::format("{}: {} failed with {}, errno {}", doing, error.what,
                           name_of(error.code), error.sys);
  return std::unexpected(error);
}

}  // namespace pawl

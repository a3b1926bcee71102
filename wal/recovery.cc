// SPDX-License-Identifier: Apache-2.0
#include "wal/recovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/check.h"
#include "core/mutant.h"

namespace pawl {

Result<std::unique_ptr<Log>> Log::open(Disk& disk, const LogOptions& options, RecoverySink& sink,
                                       RecoveryReport& report, std::string& complaint) {
  return Recovery(disk, options, sink, report, complaint).run();
}

Recovery::~Recovery() {
  for (const SegmentFile& segment : segments_) {
    if (!segment.adopted && segment.file != FileId::none) disk_.close(segment.file);
  }
}

Result<std::unique_ptr<Log>> Recovery::run() {
  const Geometry asked{options_.stream, options_.segment_bytes, options_.extent_bytes};
  if (!asked.valid() || options_.spare_segments == 0)
    return refuse(Errc::invalid, "the log's options are out of range");
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
  if (!geometry_.valid()) return refuse(Errc::corrupt, "the manifest's sizes are out of range");
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

// --- frames ---

// The position where reading the log begins.
Lsn Recovery::begin() const {
  return manifest_.checkpoint != 0 ? manifest_.checkpoint : geometry_.segment_base(manifest_.first);
}

// Stops at a damaged frame: the second reading decides its meaning.
Result<void> Recovery::recover_checkpoint() {
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
  const FileId file = log_->pool_.file(geometry_.segment_of(lsn));
  const auto bytes = read(file, geometry_.offset_of(lsn), {memory, geometry_.extent_bytes});
  if (!bytes) return std::unexpected(bytes.error());
  return memory;
}

// The number of bytes read; the rest is filled with zeros.
Result<std::uint64_t> Recovery::read(FileId file, std::uint64_t offset, std::span<std::byte> into) {
  const auto bytes = disk_.read_now(file, offset, into);
  if (!bytes) return pass_on(bytes.error(), "reading a segment");
  std::ranges::fill(into.subspan(*bytes), std::byte{0});
  read_ += into.size();
  sink_.progress(read_, to_read_);
  return *bytes;
}

Result<void> Recovery::recover_frame(const Found& found) {
  const LogFrameHeader& header = found.check.header;
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
  if (of_checkpoint_) log_->checkpoint_bytes_ += tail_ - found.at;
  last_frame_ = found.at;
  epoch_ = header.epoch;
  epoch_seen_ = std::max(epoch_seen_, epoch_);
  ++report_.frames;
  report_.records += header.records;
  report_.bytes += header.length;
  report_.newest = std::max(report_.newest, Instant{header.wall_ms});
  return {};
}

// --- the end ---

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

// Makes space for the first message. A full disk has none, and is no reason not to start.
Result<void> Recovery::make_ahead() {
  SegmentPool& pool = log_->pool_;
  const std::uint64_t wanted = 2 * log_->least_reserve();
  while (pool.free_space_behind(tail_) < wanted) {
    if (auto created = pool.create_now(); !created)
      return file_is_refused(created.error().sys) ? Result<void>{} : created;
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

// --- records ---

// The checkpoint reading takes settings and the records that only a checkpoint has; the second
// reading takes the rest.
void Recovery::send(const StoredMessage& message, std::size_t offset) {
  const std::size_t bytes = align_record(record_length(records_ + offset));
  if (of_checkpoint_) {
    log_->checkpoint_bytes_ -= bytes;
    return;
  }
  const SendRecord record{message.queue,      message.seq,      message.sent,
                          message.deliver_at, &message.content, records_at_ + offset,
                          message.dedup,      message.carried,  message.relocated};
  log_->image_.hold(record.position);
  log_->pool_.add_send(geometry_.segment_of(record.position), bytes, record.relocated);
  sink_.send(record, freed_);
  release_freed();
}

void Recovery::receive(const ReceiveRecord& record) {
  if (!of_checkpoint_) sink_.receive(record);
}

void Recovery::delete_message(const DeleteRecord& record) {
  if (of_checkpoint_) return;
  sink_.delete_message(record, freed_);
  release_freed();
}

void Recovery::forget_transfer(const ForgetTransferRecord& record) {
  if (!of_checkpoint_) sink_.forget_transfer(record);
}

void Recovery::checkpoint(const CheckpointRecord& record) {
  if (!of_checkpoint_) return;
  const auto hold_all = [&](const auto& entries) {
    for (const auto& entry : entries)
      bad_position_ |=
          entry.position >= records_end_ || records_end_ - entry.position > log_pos_max;
    if (bad_position_) return;
    for (const auto& entry : entries) hold(entry.position);
  };
  if (const auto* index_entries = std::get_if<IndexEntriesRecord>(&record))
    hold_all(index_entries->entries);
  if (const auto* tracked = std::get_if<TrackedMessagesRecord>(&record)) hold_all(tracked->entries);
  if (!bad_position_) sink_.checkpoint(record);
}

// The record describes the segment at the time when the checkpoint began.
void Recovery::segment(const SegmentRecord& record) {
  if (of_checkpoint_) log_->pool_.restore(record);
}

void Recovery::purge(const PurgeRecord& record) {
  sink_.purge(record, freed_);
  release_freed();
}

void Recovery::config(const ConfigRecord& record) { sink_.config(record); }

void Recovery::row(const RowRecord& record) { sink_.row(record); }

void Recovery::task(const TaskRecord& record) {
  sink_.task(record, freed_);
  release_freed();
}

// The record contains the low bits of the positions.
void Recovery::replay(const ReplayRecord& record) {
  ReplayRecord full = record;
  full.task.position = full_position(record.task.position, records_end_);
  full.task.end = full_position(record.task.end, records_end_);
  sink_.replay(full);
}

void Recovery::head(const HeadRecord& record) { sink_.head(record); }

void Recovery::unknown(const UnknownPart& part) {
  if (part.critical) {
    unknown_ = part;
  } else if (!of_checkpoint_) {
    ++report_.passed_over;
    report_.passed_over_latest = part;
  }
}

void Recovery::hold(LogPos position) {
  log_->image_.hold(position);
  log_->pool_.add_live(geometry_.segment_of(position));
}

void Recovery::release_freed() {
  for (const LogPos position : freed_) log_->release_at(full_position(position, records_end_));
  freed_.clear();
}

}  // namespace pawl

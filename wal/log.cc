// SPDX-License-Identifier: Apache-2.0
#include "wal/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/check.h"
#include "core/mutant.h"

namespace pawl {
Log::Log(Disk& disk, const Geometry& geometry, const LogOptions& options,
         std::unique_ptr<ManifestFiles> manifest)
    : disk_(&disk),
      geometry_(geometry),
      memory_max_(options.memory_max),
      image_(geometry.extent_bytes, options.memory_max),
      pool_(disk, geometry, options.spare_segments, options.small_segments, options.fill_every),
      reader_(disk, geometry, image_, pool_),
      relocation_(disk, geometry, image_, pool_, options.dead_bytes_max),
      send_reader_(disk, geometry, pool_),
      manifest_(std::move(manifest)),
      writer_(disk, geometry, image_, pool_, options.lazy_max),
      vouch_after_(options.vouch_after) {}

Result<void> Log::check_segments(std::string& complaint) const {
  const std::uint64_t missing = pool_.first_missing();
  if (missing == pool_.ready_end()) return {};
  complaint = fmt::format(
      "{} holds messages and is missing or cut short; restore the directory from a copy",
      segment_name(missing));
  return fail(Errc::corrupt, "looking for segments");
}

const std::byte* Log::record(LogPos low) {
  const Lsn position = full(low);
  if (image_.touch(position)) reader_.read_ahead(geometry_.extent_of(position) + 1);
  if (image_.loaded(position) && !decode_send(image_.rest_of_extent(position), geometry_.stream)) {
    ++damaged_;
    return nullptr;
  }
  return image_.at(position);
}

Lsn Log::append(Effects& effects, Instant now) {
  CHECK(!closed_);
  return writer_.append(effects, now);
}

LogPos Log::relocate(const FoundSend& found, Instant now) {
  const LogPos position = writer_.append_relocated(found.record, now);
  relocated_bytes_ += found.record.size();
  image_.release(found.position);
  pool_.release(geometry_.segment_of(found.position), MUTANT(relocate_too_soon) ? 0 : appended());
  return position;
}

// Recovery reads the bytes appended since the last checkpoint began. A checkpoint is due after a
// minimum of them, and after a multiple of its own size: checkpoints stay a small part of all
// writes.
bool Log::wants_checkpoint() const {
  if (checkpoint_ || manifest_->busy() || stopping_ || failure_) return false;
  const Manifest& last = manifest_->current();
  const std::uint64_t bytes = checkpoint_bytes_;
  const Lsn since = last.checkpoint != 0 ? last.checkpoint : geometry_.segment_base(last.first);
  // The disk may be full, and a checkpoint frees space.
  const std::uint64_t due =
      short_of_space() ? std::max(step(), 2 * bytes) : std::max(geometry_.segment_bytes, 8 * bytes);
  return appended() - since >= due && pool_.between(since, appended()) >= due;
}

void Log::begin_checkpoint() {
  CHECK(!checkpoint_);
  checkpoint_.emplace();
}

void Log::append(CheckpointSlice& slice, Instant now) {
  for (CheckpointRecord& record : slice.records) {
    if (auto* const index_entries = std::get_if<IndexEntriesRecord>(&record)) {
      for (auto& entry : index_entries->entries) entry.position = full(entry.position);
    } else if (auto* const tracked = std::get_if<TrackedMessagesRecord>(&record)) {
      for (auto& entry : tracked->entries) entry.position = full(entry.position);
    }
  }
  const Lsn from = writer_.frame_start();
  const Lsn before = appended();
  if (checkpoint_->begin == 0) writer_.append(pool_.sent(), now);
  writer_.append(slice, now);
  if (checkpoint_->begin == 0) checkpoint_->begin = writer_.first_frame_from(from);
  checkpoint_->bytes += align_up(pool_.between(before, appended()), block_bytes);
}

void Log::end_checkpoint() {
  checkpoint_->end = appended();
  checkpoint_bytes_ = std::min(checkpoint_->bytes, checkpoint_->end - checkpoint_->begin);
}

bool Log::checkpoint_lags() const {
  return checkpoint_ && checkpoint_->begin != 0 && short_of_space() &&
         pool_.between(checkpoint_->begin, appended()) > 2 * checkpoint_->bytes;
}

void Log::pump(Instant now, std::uint64_t now_us, bool idle) {
  accepted_ = 0;
  if (failure_) return;
  if (const auto failed = writer_.reap(now_us)) {
    failure_ = LogFailure{failed->sys, failed->lsn, "log write"};
    return;
  }
  note_checkpoint();
  if (failure_) return;
  note_rest(now);
  reclaim();
  pool_.want_ahead(reserve(), appended());
  if (auto pumped = pool_.pump(now, stopping_); !pumped) {
    failure_ =
        LogFailure{pumped.error().sys, pool_.ready_end() * geometry_.segment_bytes, "new segment"};
    return;
  }
  reader_.pump();
  if (!stopping_) {
    // On a full disk, segments kept only for replay are eligible too.
    const std::uint64_t in_log = manifest_->current().first;
    const std::uint64_t below = pool_.disk_full() ? in_log : std::min(in_log, pool_.kept_from());
    relocation_.choose(below, in_log, free_space(From::relocation));
  }
  if (pending()) image_.ready_ahead();
  relocation_.pump(stopping_);
  send_reader_.pump(durable(), stopping_);
  writer_.submit(now, now_us, idle);
}

// A checkpoint takes effect when it and the manifest that names it are durable.
void Log::note_checkpoint() {
  if (manifest_->busy()) {
    const auto finished = manifest_->finish();
    if (!finished) failure_ = LogFailure{finished.error().sys, durable(), finished.error().what};
    return;
  }
  if (MUTANT(checkpoint_too_soon) && checkpoint_ && checkpoint_->begin != 0 &&
      checkpoint_->end == 0)
    checkpoint_->end = appended();
  if (!checkpoint_ || checkpoint_->end == 0 || stopping_) return;
  if (checkpoint_->end > durable() && !MUTANT(reclaim_before_durable)) return;
  Manifest next = manifest_->current();
  next.first = geometry_.segment_of(checkpoint_->begin);
  next.checkpoint = checkpoint_->begin;
  next.checkpoint_end = checkpoint_->end;
  next.durable = durable();
  manifest_->write(next);
  checkpoint_.reset();
}

// A resting log writes its durable position to the manifest, so that damage to its last frame is
// distinguished from a torn write.
void Log::note_rest(Instant now) {
  if (pending() || write_in_flight()) {
    resting_since_ = never;
  } else if (resting_since_ == never) {
    resting_since_ = now;
  }
  if (stopping_ || vouch_due() > now) return;
  Manifest next = manifest_->current();
  next.durable = durable();
  manifest_->write(next);
}

// Retires segments that contain no message and that recovery does not read.
void Log::reclaim() {
  if (stopping_) return;
  pool_.retire(manifest_->current().first, durable());
  image_.forget(geometry_.extent_of(geometry_.segment_base(pool_.first())));
}

// Space reserved so that receives and deletes continue on a full disk. A message may need a block
// for its receive and one for its delete, which is more than it frees. These blocks, for the
// messages of the tail's segment and of one more, go to segments without messages. A checkpoint
// frees those segments for the next ones. With fewer messages a smaller reserve is enough.
std::uint64_t Log::reserve() const {
  return std::min(least_reserve() + 2 * block_bytes * pool_.live(),
                  2 * geometry_.segment_bytes + checkpoint_space());
}

// Space for the bytes appended before the next checkpoint begins and while it is written; the
// checkpoint may have grown.
std::uint64_t Log::checkpoint_space() const {
  return 2 * step() + 2 * frame_bytes_max() + 4 * checkpoint_bytes_;
}

std::uint64_t Log::least_reserve() const {
  return step() + 2 * frame_bytes_max() + 2 * checkpoint_bytes_;
}

bool Log::short_of_space() const {
  return pool_.free_space_behind(appended()) < checkpoint_space();
}

// Messages from another queue free as much space at their source, but later. They may use the space
// reserved from senders: a message at the front of its group may block all deletes that would free
// space.
Errc Log::check_free_space(std::uint64_t bytes, From from) const {
  if (failure_) return Errc::io;
  if (from == From::sender && span() >= span_max) return Errc::no_space;
  if (image_.needed() + accepted_ + bytes > memory_max_) return Errc::no_memory;
  return bytes <= free_space(from) ? Errc::ok : Errc::no_space;
}

// Relocation frees a whole segment for a part of one, so its reserve is smaller.
std::uint64_t Log::free_space(From from) const {
  const std::uint64_t for_queues = from == From::sender ? step() : 0;
  const std::uint64_t kept =
      from == From::relocation ? std::min(checkpoint_space(), reserve()) : reserve();
  const std::uint64_t free = pool_.free_space_behind(appended());
  return free - std::min(free, kept + accepted_ + for_queues);
}

Result<void> Log::close_clean() {
  CHECK(!closed_);
  stopping_ = true;
  if (failure_) return fail(Errc::io, failure_->what, failure_->sys);
  if (pending() || write_in_flight() || manifest_->busy() || pool_.busy() || !reader_.idle() ||
      relocation_.reading() || send_reader_.reading())
    return fail(Errc::not_ready, "close");
  Manifest next = manifest_->current();
  next.durable = next.clean = durable();
  if (auto written = manifest_->write_now(next); !written) return written;
  closed_ = true;
  return {};
}

LogStats Log::stats() const {
  return {.frames = writer_.frames(),
          .bytes_written = writer_.bytes_written(),
          .padding_bytes = writer_.padding_bytes(),
          .records = writer_.records(),
          .image_bytes = image_.bytes(),
          .image_spare_bytes = image_.spare_bytes(),
          .segments = pool_.files() - pool_.spares(),
          .spare_segments = pool_.spares(),
          .disk_full = pool_.disk_full() && free_space(From::sender) < block_bytes,
          .used_bytes = pool_.used_bytes(),
          .disk_bytes = pool_.bytes(),
          .manifests = manifest_->written(),
          .end = appended(),
          .span = span(),
          .replay_bytes = pool_.bytes_for_replay(manifest_->current().first),
          .flush_us_ewma = writer_.flush_us_ewma(),
          .gap_us_max = writer_.gap_us_max(),
          .files_set_aside = pool_.set_aside(),
          .set_aside_errno = pool_.set_aside_errno(),
          .checkpoint_bytes = checkpoint_bytes_,
          .bodies_read = reader_.bytes_read(),
          .extents_evicted = image_.evicted(),
          .relocated_bytes = relocated_bytes_,
          .damaged = damaged_ + reader_.damaged() + send_reader_.damaged()};
}

}  // namespace pawl

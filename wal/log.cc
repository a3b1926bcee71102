// SPDX-License-Identifier: Apache-2.0
#include "wal/log.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/check.h"
#include "core/base/mutant.h"

namespace pawl {
Log::Log(Disk& disk, const Geometry& geometry, const LogOptions& options,
         std::unique_ptr<ManifestFiles> manifest)
    : disk_(&disk),
      geometry_(geometry),
      memory_max_(options.memory_max),
      image_(geometry.extent_bytes, options.memory_max),
      pool_(disk, geometry, options.spare_segments, options.small_segments, options.fill_every,
            options.flush_each_fill),
      reader_(disk, geometry, image_, pool_),
      relocation_(disk, geometry, image_, pool_, options.dead_bytes_max),
      send_reader_(disk, geometry, pool_),
      manifest_(std::move(manifest)),
      writer_(disk, geometry, image_, pool_, options.lazy_max),
      space_(geometry, pool_),
      checkpointer_(geometry, *manifest_, writer_, pool_, space_),
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
  CHECK(position < appended(), "a record at {}, the end at {}", position, appended());
  if (image_.touch(position)) reader_.read_ahead(geometry_.extent_of(position) + 1);
  if (image_.loaded(position) &&
      !is_whole_message(image_.rest_of_extent(position), geometry_.stream)) {
    ++damaged_;
    return nullptr;
  }
  return image_.at(position);
}

Lsn Log::append(Effects& effects, Instant now) {
  CHECK(!closed_, "the log is closed");
  return writer_.append(effects, now);
}

LogPos Log::relocate(const FoundSend& found, std::span<const std::size_t> existing, Instant now) {
  CHECK(!closed_, "the log is closed");
  CHECK(found.position < appended(), "a record at {}, the end at {}", found.position, appended());
  const LogPos position = writer_.append_relocated(found, existing, now);
  relocated_bytes_ += found.record.size();
  for (std::size_t i = 0; i < existing.size(); ++i) {
    image_.release(found.position);
    pool_.release(geometry_.segment_of(found.position), MUTANT(relocate_too_soon) ? 0 : appended());
  }
  return position;
}

void Log::pump(Instant now, std::uint64_t now_us, bool idle) {
  space_.end_turn();
  if (failure_) return;
  if (finished_io()) {
    if (const auto failed = writer_.reap(now_us)) {
      failure_ = LogFailure{failed->sys, failed->lsn, "log write"};
      return;
    }
  }
  finished_ = disk_->finished();
  if (const auto named = checkpointer_.pump(stopping_); !named) {
    failure_ = LogFailure{named.error().sys, durable(), named.error().what};
    return;
  }
  note_rest(now);
  reclaim();
  if (!stopping_ && now >= tidy_due()) tidy(now);
  pool_.want_ahead(space_.reserve(), appended());
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
    if (relocation_.must_examine(below))
      relocation_.choose(below, in_log, space_.free(appended(), From::relocation));
  }
  if (pending()) image_.ready_ahead();
  relocation_.pump(stopping_);
  send_reader_.pump(durable(), stopping_);
  writer_.submit(now, now_us, idle);
  check_marks();
}

// The order of the positions and segments after each pump: kept files, the checkpoint in force, the
// durable bytes, the end.
void Log::check_marks() const {
  const Manifest& now = manifest_->current();
  CHECK(durable() <= appended(), "durable to {}, the end at {}", durable(), appended());
  CHECK(now.durable <= durable() || MUTANT(reclaim_before_durable),
        "{} in the manifest, {} durable", now.durable, durable());
  CHECK(now.checkpoint_end <= durable() || MUTANT(reclaim_before_durable),
        "a checkpoint to {}, durable to {}", now.checkpoint_end, durable());
  CHECK(pool_.first() <= now.first, "segment {} of {}", pool_.first(), now.first);
  CHECK(now.first <= pool_.tail(), "the log begins in segment {}, the tail is in {}", now.first,
        pool_.tail());
  CHECK(now.first < pool_.ready_end(), "segment {} of {}", now.first, pool_.ready_end());
  CHECK(geometry_.segment_of(appended()) >= pool_.tail(), "the end at {}, the tail in {}",
        appended(), pool_.tail());
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
  CHECK(next.durable < durable(), "{} in the manifest, {} durable", next.durable, durable());
  next.durable = durable();
  manifest_->write(next);
}

// Memory and disk follow the messages that exist, even if the log hardly grows.
void Log::tidy(Instant now) {
  tidied_ = pool_.released();
  tidied_at_ = now;
  tidy_again_ = image_.evict_sparse();
  relocation_.look_again();
}

// Retires segments that contain no message and that recovery does not read.
void Log::reclaim() {
  const std::uint64_t below = manifest_->current().first;
  if (stopping_ || !pool_.retire_due(below)) return;
  pool_.retire(below, durable());
  image_.forget(geometry_.extent_of(geometry_.segment_base(pool_.first())));
}

Errc Log::check_free_space(std::uint64_t bytes, From from) const {
  if (failure_) return Errc::io;
  if (from == From::sender && span() >= span_max) return Errc::no_space;
  // Bodies being read need memory, too. Those of messages that move here must not block them.
  if (from != From::same_shard && image_.needed() + space_.accepted() + bytes > memory_max_)
    return Errc::no_memory;
  return bytes <= space_.free(appended(), from) ? Errc::ok : Errc::no_space;
}

Result<void> Log::close_clean() {
  CHECK(!closed_, "the log is closed");
  stopping_ = true;
  if (failure_) return fail(Errc::io, failure_->what, failure_->sys);
  if (pending() || write_in_flight() || manifest_->busy() || pool_.busy() || !reader_.idle() ||
      relocation_.reading() || send_reader_.reading())
    return fail(Errc::not_ready, "close");
  CHECK(durable() == appended(), "durable to {}, the end at {}", durable(), appended());
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
          .disk_full = pool_.disk_full() && space_.free(appended(), From::sender) < block_bytes,
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
          .checkpoint_bytes = space_.checkpoint_bytes(),
          .bodies_read = reader_.bytes_read(),
          .extents_evicted = image_.evicted(),
          .relocated_bytes = relocated_bytes_,
          .damaged = damaged_ + reader_.damaged() + send_reader_.damaged()};
}

}  // namespace pawl

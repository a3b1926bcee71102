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
      appender_(geometry, writer_, image_, pool_),
      space_(geometry, pool_),
      checkpointer_(geometry, *manifest_, writer_, appender_, pool_, space_),
      upkeep_({geometry_, image_, pool_, reader_, relocation_, send_reader_, *manifest_, writer_,
               space_, checkpointer_},
              options.vouch_after) {}

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
  if (image_.touch(position)) {
    reader_.read_ahead(geometry_.extent_of(position) + 1);
    upkeep_.arm(LogPart::bodies);
  }
  if (image_.loaded(position) &&
      !is_whole_message(image_.rest_of_extent(position), geometry_.stream)) {
    ++damaged_;
    return nullptr;
  }
  return image_.at(position);
}

Lsn Log::append(Effects& effects, Instant now) {
  CHECK(!closed_, "the log is closed");
  return appender_.append(effects, now);
}

LogPos Log::relocate(const FoundSend& found, std::span<const std::size_t> existing, Instant now) {
  CHECK(!closed_, "the log is closed");
  CHECK(found.position < appended(), "a record at {}, the end at {}", found.position, appended());
  const LogPos position = appender_.append_relocated(found, existing, now);
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
  if (finished_io() && !take_finished(now_us)) return;
  failure_ = upkeep_.run(now);
  if (failure_) return;
  if (pending()) image_.ready_ahead();
  writer_.submit(now, now_us, idle);
}

// False: a write failed.
bool Log::take_finished(std::uint64_t now_us) {
  if (const auto failed = writer_.reap(now_us)) {
    failure_ = LogFailure{failed->sys, failed->lsn, "log write"};
    return false;
  }
  finished_ = disk_->finished();
  upkeep_.note_finished(finished_ - writer_.reaped());
  return true;
}

Errc Log::check_free_space(std::uint64_t bytes, From from) {
  if (failure_) return Errc::io;
  const bool granted = from == From::sender && space_.granted(bytes, appended(), pool_.live());
  if (!granted && from == From::sender && span() >= span_max) return Errc::no_space;
  // Bodies being read need memory, too. Those of messages that move here must not block them.
  if (from != From::same_shard && image_.needed() + space_.accepted() + bytes > memory_max_)
    return Errc::no_memory;
  if (granted) return Errc::ok;
  if (bytes > space_.free(appended(), from)) return Errc::no_space;
  if (from == From::sender && span() < span_max / 2) space_.grant(appended());
  return Errc::ok;
}

void Log::ask_for_space(std::uint64_t bytes, From from) {
  if (failure_ || upkeep_.stopping() || span() >= span_max) return;
  pool_.want_ahead(space_.reserve(), appended());
  pool_.ask_for_space(bytes + space_.kept_from(from));
  upkeep_.arm(LogPart::segments);
}

Result<void> Log::close_clean() {
  CHECK(!closed_, "the log is closed");
  upkeep_.stop();
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
          .flush_times = writer_.flush_times(),
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

#include "wal/log.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/mutant.h"

namespace pawl {

Log::Log(Disk& disk, const Geometry& geometry, const LogOptions& options,
         std::unique_ptr<ManifestFiles> manifest)
    : geometry_(geometry),
      memory_max_(options.memory_max),
      image_(geometry.extent_bytes),
      pool_(disk, geometry, options.spare_segments),
      manifest_(std::move(manifest)),
      writer_(disk, geometry, image_, pool_, options.lazy_max) {}

Lsn Log::append(Effects& effects, Instant now) {
  CHECK(!closed_);
  append_segment_ = writer_.segment();
  return writer_.append(effects, now);
}

bool Log::wants_snapshot() const {
  return writer_.segment() > std::max(latest_snapshot_.segment, pool_.first());
}

void Log::snapshot_appended() { latest_snapshot_ = {append_segment_, writer_.appended()}; }

void Log::pump(Instant now, std::uint64_t now_us, bool idle) {
  accepted_ = 0;
  if (failure_) return;
  if (const auto failed = writer_.reap(now_us)) {
    failure_ = LogFailure{failed->sys, failed->lsn, "log write"};
    return;
  }
  reclaim(now);
  if (failure_) return;
  if (auto pumped = pool_.pump(now, stopping_); !pumped) {
    failure_ =
        LogFailure{pumped.error().sys, pool_.ready_end() * geometry_.segment_bytes, "new segment"};
    return;
  }
  writer_.submit(now, now_us, idle);
}

// Lets the oldest segments go. The order is the safety of it: what emptied them is durable, then the
// snapshot, then the manifest that starts behind them, and only then a file is used again.
void Log::reclaim(Instant now) {
  if (latest_snapshot_.end <= durable()) durable_snapshot_ = latest_snapshot_;
  if (manifest_->busy()) return finish_reclaim();
  if (stopping_) return;
  std::uint64_t target =
      std::min(image_.first_needed() * geometry_.extent_bytes / geometry_.segment_bytes,
               durable_snapshot_.segment);
  if (target > pool_.first()) target = std::min(target, pool_.first_kept(now));
  if (MUTANT(reuse_segment_early)) target = durable_snapshot_.segment;
  if (target <= pool_.first()) return;
  if (target != reclaim_to_) {
    reclaim_to_ = target;
    reclaim_after_ = appended();
  }
  if (durable() < reclaim_after_ && !MUTANT(reclaim_before_durable)) return;
  Manifest next = manifest_->current();
  next.first = target;
  next.durable = durable();
  manifest_->write(next);
}

void Log::finish_reclaim() {
  const auto finished = manifest_->finish();
  if (!finished) {
    failure_ = LogFailure{finished.error().sys, durable(), finished.error().what};
  } else if (*finished) {
    pool_.retire(manifest_->current().first);
    if (!MUTANT(reuse_segment_early))
      image_.forget(geometry_.extent_of(geometry_.segment_base(pool_.first())));
  }
}

Errc Log::room(std::uint64_t bytes, From from) const {
  if (failure_) return Errc::io;
  const std::uint64_t reserve_of_queues =
      from == From::sender ? transfer_reserve_of(memory_max_) : 0;
  if (image_.bytes() + accepted_ + bytes + reserve_of_queues > memory_max_) return Errc::no_memory;
  // What is kept back so that receives and deletes go on when the disk is full.
  const std::uint64_t frame = std::min<std::uint64_t>(log_frame_bytes_max, geometry_.extent_bytes);
  const std::uint64_t reserve = geometry_.segment_bytes / 8 + 2 * frame;
  const Lsn end = geometry_.segment_base(pool_.ready_end());
  return appended() + reserve + bytes <= end ? Errc::ok : Errc::no_space;
}

Result<void> Log::close_clean() {
  CHECK(!closed_);
  stopping_ = true;
  if (failure_) return fail(Errc::io, failure_->what, failure_->sys);
  if (pending() || write_in_flight() || manifest_->busy() || pool_.busy())
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
          .segments = writer_.segment() - pool_.first() + 1,
          .spare_segments = pool_.spares(),
          .flush_us_ewma = writer_.flush_us_ewma()};
}

}  // namespace pawl

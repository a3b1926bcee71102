// SPDX-License-Identifier: Apache-2.0
#include "wal/upkeep.h"

#include <algorithm>

#include "core/base/check.h"

namespace pawl {
namespace {

constexpr LogPart next(LogPart part) {
  return static_cast<LogPart>(static_cast<std::uint8_t>(part) + 1);
}

}  // namespace

Upkeep::Upkeep(const Parts& parts, Duration vouch_after)
    : parts_(parts), vouch_after_(vouch_after) {
  for (auto part = LogPart{}; part != LogPart::end; part = next(part)) arm(part);
}

// An operation of another part than the writer arms all that may have some.
void Upkeep::note_finished(std::uint64_t others) {
  if (others == std::exchange(others_finished_, others)) return;
  for (const LogPart part : {LogPart::checkpoint, LogPart::segments, LogPart::bodies,
                             LogPart::relocation, LogPart::replay})
    arm(part);
}

std::optional<LogFailure> Upkeep::run(Instant now) {
  note_rest(now);
  arm_by_figures(now);
  check_armed(now);
  return armed_.any() ? visit(now) : std::nullopt;
}

void Upkeep::note_rest(Instant now) {
  if (parts_.writer.appended() > parts_.writer.durable() || parts_.writer.write_in_flight()) {
    resting_since_ = never;
  } else if (resting_since_ == never) {
    resting_since_ = now;
  }
}

// Arms the parts whose work shows in a figure, or begins at a time.
void Upkeep::arm_by_figures(Instant now) {
  if (!bounds_.hold(parts_.writer.appended(), parts_.pool.live(), now)) {
    arm(LogPart::checkpoint);
    arm(LogPart::segments);
  }
  if (parts_.writer.segment() != entered_) {
    arm(LogPart::segments);
    arm(LogPart::relocation);
  }
  if (parts_.pool.looked_below() < looked_below_) arm(LogPart::reclaim);
  if (stopping_) return;
  if (now >= vouch_due()) arm(LogPart::rest);
  if (now >= tidy_due()) arm(LogPart::tidy);
}

std::optional<LogFailure> Upkeep::visit(Instant now) {
  parts_.space.forget_grant();
  if (armed_.take(LogPart::checkpoint)) {
    if (const auto named = parts_.checkpointer.pump(stopping_); !named) {
      return LogFailure{named.error().sys, parts_.writer.durable(), named.error().what};
    }
  }
  if (armed_.take(LogPart::rest) && !stopping_) vouch();
  if (armed_.take(LogPart::reclaim)) reclaim();
  if (armed_.take(LogPart::tidy) && !stopping_) tidy(now);
  parts_.pool.want_ahead(parts_.space.reserve(), parts_.writer.appended());
  if (armed_.take(LogPart::segments)) {
    if (auto pumped = parts_.pool.pump(now, stopping_); !pumped) {
      return LogFailure{pumped.error().sys, parts_.pool.ready_end() * parts_.geometry.segment_bytes,
                        "new segment"};
    }
  }
  if (armed_.take(LogPart::bodies)) parts_.reader.pump();
  if (armed_.take(LogPart::relocation)) relocate();
  if (armed_.take(LogPart::replay)) parts_.send_reader.pump(parts_.writer.durable(), stopping_);
  rearm(now);
  check_marks();
  return std::nullopt;
}

// On a full disk, segments kept only for replay are eligible too.
std::uint64_t Upkeep::relocated_below() const {
  const std::uint64_t in_log = parts_.manifest.current().first;
  return parts_.pool.disk_full() ? in_log : std::min(in_log, parts_.pool.kept_from());
}

bool Upkeep::has_work(LogPart part, Instant now) const {
  switch (part) {
    case LogPart::checkpoint:
      return parts_.checkpointer.has_work(stopping_) ||
             checkpoint_due_ != parts_.checkpointer.due();
    case LogPart::rest:
      return !stopping_ && vouch_due() <= now;
    case LogPart::reclaim:
      return !stopping_ && parts_.pool.retire_due(parts_.manifest.current().first);
    case LogPart::tidy:
      return !stopping_ && now >= tidy_due();
    case LogPart::segments:
      return parts_.pool.has_work(now, parts_.space.reserve(), parts_.writer.appended());
    case LogPart::bodies:
      return parts_.reader.has_work();
    case LogPart::relocation:
      return parts_.relocation.has_work(stopping_) ||
             (!stopping_ && parts_.relocation.must_examine(relocated_below()));
    case LogPart::replay:
      return parts_.send_reader.has_work(stopping_);
    case LogPart::end:
      break;
  }
  CHECK(false, "part {}", static_cast<int>(part));
}

// Arms the parts that have work left, or work that another part made, and notes the figures within
// which the others have none.
void Upkeep::rearm(Instant now) {
  const Manifest& manifest = parts_.manifest.current();
  vouched_ = parts_.manifest.busy() ? UINT64_MAX : manifest.durable;
  checkpoint_due_ = parts_.checkpointer.due();
  entered_ = parts_.writer.segment();
  looked_below_ = parts_.pool.looked_below();
  segments_due_ = parts_.pool.next_due();
  bounds_ = {};
  bounds_.end_before(checkpoint_due_ ? UINT64_MAX : parts_.checkpointer.due_from());
  for (auto part = LogPart{}; part != LogPart::end; part = next(part))
    if (has_work(part, now)) arm(part);
  if (!armed_.has(LogPart::segments)) parts_.pool.narrow(bounds_, parts_.space.reserve_rule());
}

// A part with work is armed. The simulator's build asks them all.
void Upkeep::check_armed([[maybe_unused]] Instant now) const {
#ifdef PAWL_MUTANTS
  for (auto part = LogPart{}; part != LogPart::end; part = next(part))
    CHECK(armed_.has(part) || !has_work(part, now), "part {} of the log has work and is not armed",
          static_cast<int>(part));
#endif
}

// The order of the positions and segments after each visit: kept files, the checkpoint in force,
// the durable bytes, the end.
void Upkeep::check_marks() const {
  const Manifest& now = parts_.manifest.current();
  CHECK(parts_.writer.durable() <= parts_.writer.appended(), "durable to {}, the end at {}",
        parts_.writer.durable(), parts_.writer.appended());
  CHECK(now.durable <= parts_.writer.durable() || MUTANT(reclaim_before_durable),
        "{} in the manifest, {} durable", now.durable, parts_.writer.durable());
  CHECK(now.checkpoint_end <= parts_.writer.durable() || MUTANT(reclaim_before_durable),
        "a checkpoint to {}, durable to {}", now.checkpoint_end, parts_.writer.durable());
  CHECK(parts_.pool.first() <= now.first, "segment {} of {}", parts_.pool.first(), now.first);
  CHECK(now.first <= parts_.pool.tail(), "the log begins in segment {}, the tail is in {}",
        now.first, parts_.pool.tail());
  CHECK(now.first < parts_.pool.ready_end(), "segment {} of {}", now.first,
        parts_.pool.ready_end());
  CHECK(parts_.geometry.segment_of(parts_.writer.appended()) >= parts_.pool.tail(),
        "the end at {}, the tail in {}", parts_.writer.appended(), parts_.pool.tail());
}

// A resting log writes its durable position to the manifest, so that damage to its last frame is
// distinguished from a torn write.
void Upkeep::vouch() {
  // A checkpoint may have just been named.
  if (parts_.manifest.busy() || parts_.manifest.current().durable >= parts_.writer.durable())
    return;
  Manifest next = parts_.manifest.current();
  CHECK(next.durable < parts_.writer.durable(), "{} in the manifest, {} durable", next.durable,
        parts_.writer.durable());
  next.durable = parts_.writer.durable();
  parts_.manifest.write(next);
}

// Memory and disk follow the messages that exist, even if the log hardly grows.
void Upkeep::tidy(Instant now) {
  tidied_ = parts_.pool.released();
  tidied_at_ = now;
  tidy_again_ = parts_.image.evict_sparse();
  parts_.relocation.look_again();
}

// Retires segments that contain no message and that recovery does not read.
void Upkeep::reclaim() {
  const std::uint64_t below = parts_.manifest.current().first;
  if (stopping_ || !parts_.pool.retire_due(below)) return;
  parts_.pool.retire(below, parts_.writer.durable());
  parts_.image.forget(parts_.geometry.extent_of(parts_.geometry.segment_base(parts_.pool.first())));
}

// Empties segments with few messages left.
void Upkeep::relocate() {
  Relocation& relocation = parts_.relocation;
  if (!stopping_ && relocation.must_examine(relocated_below()))
    relocation.choose(relocated_below(), parts_.manifest.current().first,
                      parts_.space.free(parts_.writer.appended(), SpaceBudget::From::relocation));
  relocation.pump(stopping_);
  relocatable_ = relocation.due();
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "wal/checkpointer.h"

#include <algorithm>
#include <variant>

#include "core/base/check.h"
#include "core/base/mutant.h"

namespace pawl {

// The allowed transitions are those of the drawing in the header.
void Checkpointer::change(State next) {
  const bool allowed = (state_ == State::none && next == State::begun) ||
                       (state_ == State::begun && next == State::writing) ||
                       (state_ == State::writing && next == State::ended) ||
                       (state_ == State::ended && next == State::none);
  CHECK(allowed, "checkpoint: {} to {}", static_cast<int>(state_), static_cast<int>(next));
  state_ = next;
}

// Recovery reads the bytes appended since the last checkpoint began. A checkpoint is due after a
// minimum of them, and after a multiple of its own size: checkpoints stay a small part of all
// writes.
bool Checkpointer::due() const {
  if (state_ != State::none || manifest_.busy()) return false;
  const Lsn end = writer_.appended();
  CHECK(since() <= end, "checkpoint at {}, end {}", since(), end);
  return pool_.between(since(), end) >= due_after(space_.is_short(end));
}

// The begin of the checkpoint in force; without one, of the log.
Lsn Checkpointer::since() const {
  const Manifest& last = manifest_.current();
  return last.checkpoint != 0 ? last.checkpoint : geometry_.segment_base(last.first);
}

// The disk may be full, and a checkpoint frees space: then it is due earlier.
std::uint64_t Checkpointer::due_after(bool space_is_short) const {
  const std::uint64_t bytes = space_.checkpoint_bytes();
  return space_is_short ? std::max(space_.step(), 2 * bytes)
                        : std::max(geometry_.segment_bytes, 8 * bytes);
}

// The log's end rises by at least as much as the bytes between.
Lsn Checkpointer::due_from() const {
  if (state_ != State::none || manifest_.busy()) return UINT64_MAX;
  const Lsn end = writer_.appended();
  const std::uint64_t between = pool_.between(since(), end);
  const auto left = [&](bool space_is_short) {
    const std::uint64_t due = due_after(space_is_short);
    return due - std::min(due, between);
  };
  const std::uint64_t until_short = space_.until_short(end);
  return end + std::min(left(false), std::max(left(true), until_short));
}

bool Checkpointer::lags() const {
  if (state_ != State::writing && state_ != State::ended) return false;
  const Lsn end = writer_.appended();
  return space_.is_short(end) && pool_.between(begin_, end) > 2 * bytes_;
}

void Checkpointer::begin() {
  change(State::begun);
  begin_ = end_ = bytes_ = 0;
}

void Checkpointer::append(CheckpointSlice& slice, Instant now) {
  const bool begun = state_ == State::begun || state_ == State::writing;
  CHECK(begun || MUTANT(checkpoint_too_soon), "{}", static_cast<int>(state_));
  for (CheckpointRecord& record : slice.records) {
    if (auto* const index_entries = std::get_if<IndexEntriesRecord>(&record)) {
      for (auto& entry : index_entries->entries) entry.position = writer_.full(entry.position);
    } else if (auto* const tracked = std::get_if<TrackedMessagesRecord>(&record)) {
      for (auto& entry : tracked->entries) entry.position = writer_.full(entry.position);
    }
  }
  const Lsn from = writer_.frame_start();
  const Lsn before = writer_.appended();
  CHECK(from <= before, "a frame at {}, end {}", from, before);
  if (state_ == State::begun) appender_.append(pool_.sent(), now);
  appender_.append(slice, now);
  if (state_ == State::begun) {
    begin_ = writer_.first_frame_from(from);
    CHECK(begin_ >= from && begin_ < writer_.appended(), "{} of {}", begin_, writer_.appended());
    change(State::writing);
  }
  bytes_ += align_up(pool_.between(before, writer_.appended()), block_bytes);
}

void Checkpointer::end() {
  if (state_ == State::writing || !MUTANT(checkpoint_too_soon)) change(State::ended);
  end_ = writer_.appended();
  CHECK(end_ > begin_, "checkpoint from {} to {}", begin_, end_);
  space_.set_checkpoint_bytes(std::min(bytes_, end_ - begin_));
}

bool Checkpointer::has_work(bool stopping) const {
  if (manifest_.busy()) return manifest_.written_now();
  const bool early = MUTANT(checkpoint_too_soon) && state_ == State::writing;
  return early || (state_ == State::ended && !stopping);
}

Result<void> Checkpointer::pump(bool stopping) {
  if (manifest_.busy()) {
    const auto finished = manifest_.finish();
    return finished ? Result<void>{} : std::unexpected(finished.error());
  }
  if (MUTANT(checkpoint_too_soon) && state_ == State::writing) {
    change(State::ended);
    end_ = writer_.appended();
  }
  if (state_ != State::ended || stopping) return {};
  if (end_ > writer_.durable() && !MUTANT(reclaim_before_durable)) return {};
  Manifest next = manifest_.current();
  next.first = geometry_.segment_of(begin_);
  next.checkpoint = begin_;
  next.checkpoint_end = end_;
  next.durable = writer_.durable();
  CHECK(next.first >= manifest_.current().first, "segment {} after {}", next.first,
        manifest_.current().first);
  manifest_.write(next);
  change(State::none);
  return {};
}

}  // namespace pawl

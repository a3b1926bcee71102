// SPDX-License-Identifier: Apache-2.0
// The work of a turn that no request asked for: shares of the memory, checkpoints, relocation,
// replay tasks and schedules.
#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/mutant.h"
#include "net/engine/shard_loop.h"
#include "wal/format/records.h"

namespace pawl {

void ShardLoop::share_memory() {
  memory_due_ = memory_look;
#ifdef PAWL_MUTANTS
  grown_ = 0;
#endif
  if (memory_max_ == 0) return;
  const std::uint64_t image_min = memory_max_ / image_share_min;
  const ShardMemory memory = shard_->memory();
  const std::uint64_t state = memory.sum();
  memory_full_ = state + image_min > memory_max_ || (memory_full_ && MUTANT(stay_full));
  stats_.memory_full = memory_full_;
  // Messages from other queues get a higher limit: they free as much at their source, and refusing
  // them would block the source queue for ever. This shard's own transfers do not count towards it:
  // two shards would wait for each other. Nor do long polls, some of which move dead letters on.
  memory_full_for_transfers_ =
      state - memory.transfers - memory.waiting + image_min / 2 > memory_max_;
  if (memory_full_ || memory_full_for_transfers_) memory_due_ = 0;
  const std::uint64_t left = memory_full_ ? image_min : memory_max_ - state;
  log_->set_memory_max(std::max(image_min, left - std::min(left, request_owner_->memory())));
}

void ShardLoop::keep_for_replay(Instant now) {
  if (MUTANT(forget_kept)) return;
  const auto [kept, position] =
      kept_for_replay_.note({shard_->replays().retention(), shard_->replays().position()},
                            log_->appended(), log_->durable());
  log_->keep_for_replay(kept == Duration{0} ? never : now - kept, position);
}

// Sets the part of the log that a replay task reads.
void ShardLoop::look_into_log(Request& request, Instant now) {
  const ConfigPtr* const config = shard_->directory().find(request.queue);
  if (config == nullptr) return;  // it is refused
  ReplayParams& asked = *request.replay;
  asked.from = std::max(asked.from, now - (*config)->replay_retention());
  asked.position = log_->first_since(asked.from);
  asked.end = asked.to.ms == 0 ? log_->appended() : log_->end_before(asked.to);
}

void ShardLoop::replay(Instant now) {
  if (Request* const request = replayer_.turn(now, effects_); request != nullptr)
    submit(*request, replayer_.target());
  if (!log_->keeps_for_replay() && !replayer_.active()) shard_->replays().rest();
}

void ShardLoop::fire_schedules(Instant now) {
  scheduler_.turn(now, fired_);
  for (Request* const request : fired_)
    submit(*request, request->op == Op::fan_out ? port_->self() : control_shard);
  fired_.clear();
}

// Writes a checkpoint slice if one is due. During shutdown none is written: the remaining log is
// short.
void ShardLoop::write_checkpoint(Instant now) {
  if (draining_) return;
  if (!std::exchange(checkpointing_, true)) {
    shard_->begin_checkpoint();
    log_->begin_checkpoint();
  }
  do {
    slice_ = {};
    checkpointing_ = shard_->checkpoint_slice(slice_);
    log_->append(slice_, now);
    for (const LogPos position : slice_.freed) log_->release(position);
  } while (checkpointing_ && log_->checkpoint_lags());
  if (!checkpointing_) log_->end_checkpoint();
  more_ |= checkpointing_;
}

// Relocates live messages out of a segment to be reused, a bounded amount per turn.
void ShardLoop::relocate(Instant now, bool idle) {
  if (draining_) return;
  std::size_t left = idle ? relocated_idle_turn : relocated_busy_turn;
  FoundSend found;
  while (left > 0 &&
         log_->check_free_space(log_->max_record_bytes(), Log::From::relocation) == Errc::ok &&
         log_->next_relocatable(found)) {
    left -= std::min(left, found.record.size());
    existing_.clear();
    for (std::size_t i = 0; i < found.messages(); ++i) {
      const StoredMessage message = found.message(i);
      if (shard_->position_of(message.queue, message.seq) == log_pos(found.position))
        existing_.push_back(i);
    }
    if (existing_.empty()) continue;
    const LogPos position = log_->relocate(found, existing_, now);
    for (const std::size_t i : existing_) {
      const StoredMessage message = found.message(i);
      shard_->relocated(message.queue, message.seq, position);
    }
  }
  more_ |= left == 0;
}

}  // namespace pawl

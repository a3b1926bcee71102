// SPDX-License-Identifier: Apache-2.0
// Events of a worker: once a second it looks for what an operator should know.
#include <fmt/core.h>

#include <cstring>
#include <string>

#include "core/base/check.h"
#include "net/events/event_log.h"
#include "net/server/worker.h"
#include "wal/segments/segment_pool.h"

namespace pawl {

// Clears out_of_space_ after a second without a refusal, when a message of any size has space.
void Worker::look_for_space() {
  Log& log = engine_->log();
  if (out_of_space_ && now_us_ - refused_us_ > 1'000'000 &&
      log.check_free_space(log.max_record_bytes(), Log::From::sender) != Errc::no_space) {
    out_of_space_ = false;
    emit(Event{EventCode::disk_has_space,
               fmt::format("shard {}: sends are accepted again: there is space in {}",
                           raw(options_.id), options_.directory)}
             .with("shard", raw(options_.id))
             .with("path", options_.directory));
  }
  numbers_.disk_full.store(out_of_space_ || log.stats().disk_full ? 1 : 0,
                           std::memory_order_relaxed);
}

void Worker::note_files_set_aside() {
  const LogStats log = engine_->log().stats();
  if (log.files_set_aside == files_set_aside_) return;
  files_set_aside_ = log.files_set_aside;
  emit(Event{
      EventCode::new_file_set_aside,
      fmt::format(
          "shard {}: {} new file{} of the log could not be written ({}) and {} set aside in {} "
          "with names ending in .bad. The disk has bad blocks: replace it. After {} such files "
          "the shard fails.",
          raw(options_.id), log.files_set_aside, log.files_set_aside == 1 ? "" : "s",
          log.set_aside_errno != 0 ? std::strerror(log.set_aside_errno) : "before this start",
          log.files_set_aside == 1 ? "is" : "are", options_.directory, SegmentPool::set_aside_max)}
           .with("shard", raw(options_.id))
           .with("path", options_.directory)
           .with("errno", log.set_aside_errno)
           .with("files", log.files_set_aside));
}

// Runs once a second, which limits the log to one line a second.
void Worker::note_unreadable() {
  const LoopStats& stats = loop_->stats();
  if (stats.unreadable == unreadable_) return;
  CHECK(stats.unreadable > unreadable_, "{} unreadable messages after {}", stats.unreadable,
        unreadable_);
  const ConfigPtr* const queue = engine_->shard().directory().find(stats.unreadable_queue);
  const std::string name =
      queue != nullptr ? (*queue)->name : fmt::format("{}", raw(stats.unreadable_queue));
  emit(Event{
      EventCode::message_unreadable,
      fmt::format("shard {}: {} messages cannot be read and are set aside; the latest is "
                  "sequence number {} of queue {}. `pawl wal repair` shows what is lost.",
                  raw(options_.id), stats.unreadable - unreadable_, stats.unreadable_seq, name)}
           .with("shard", raw(options_.id))
           .with("messages", stats.unreadable - unreadable_)
           .with("sequence_number", stats.unreadable_seq)
           .with("queue", name));
  unreadable_ = stats.unreadable;
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Recovery: hands the records of a frame to the sink, and keeps the memory of the messages.
#include <variant>
#include <vector>

#include "core/base/check.h"
#include "wal/recovery/recovery_steps.h"

namespace pawl {

// The checkpoint reading takes settings and the records that only a checkpoint has; the second
// reading takes the rest.
void Recovery::send(const StoredMessage& message, std::size_t offset) {
  const std::size_t bytes = message.shares ? 0 : align_record(record_length(records_ + offset));
  CHECK(records_at_ + offset < records_end_, "a record at {}, the frame to {}",
        records_at_ + offset, records_end_);
  if (of_checkpoint_) {
    checkpoint_bytes_ -= bytes;
    return;
  }
  const SendRecord record{message.queue,
                          message.seq,
                          message.sent,
                          message.deliver_at,
                          &message.content,
                          records_at_ + offset,
                          message.dedup,
                          message.carried,
                          message.relocated,
                          message.producer,
                          {},
                          message.aged_apart,
                          message.own_delay,
                          message.time_to_live,
                          message.fire};
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

void Recovery::number(const NumberRecord& record) {
  if (!of_checkpoint_) sink_.number(record);
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

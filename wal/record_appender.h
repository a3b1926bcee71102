// SPDX-License-Identifier: Apache-2.0
// RecordAppender: turns the decisions of a turn, checkpoint slices and relocated messages into
// records at the end of the log.
//
//   Effects, CheckpointSlice, FoundSend --encode--> records --FrameWriter--> frames
//
// Records that a response waits for are urgent; the others are lazy (wal/log.h). A list that is too
// long for one record becomes several, each correct alone.
//
// Units:  Lsn, LogPos.
// Limits: a batched record holds at most batch_max entries; a record has at most record_bytes_max
//         bytes and fits into an extent.
// Errors: none; a failed write of the frames is FrameWriter's.
// Owner:  the log of one shard, which owns `frames`, `image` and `pool`.
// Source: wal/FORMAT.md, "A record".
#pragma once

#include <cstddef>
#include <span>

#include "core/base/ids.h"
#include "core/base/time.h"
#include "core/queue/checkpoint.h"
#include "core/queue/effects.h"
#include "wal/format/format.h"
#include "wal/format/send_scan.h"
#include "wal/frame_writer.h"
#include "wal/image.h"
#include "wal/segments/segment_pool.h"

namespace pawl {

class RecordAppender {
 public:
  RecordAppender(const Geometry& geometry, FrameWriter& frames, Image& image, SegmentPool& pool)
      : geometry_(geometry), frames_(frames), image_(image), pool_(pool) {}

  // Appends all records of a turn and sets SendRecord::position. Returns the log's end.
  Lsn append(Effects& effects, Instant now);
  // Appends a slice of a checkpoint, as lazy records: no response waits for it.
  void append(const CheckpointSlice& slice, Instant now);
  // Appends the checkpoint's records of the messages sent in each segment.
  void append(std::span<const SegmentRecord> segments, Instant now);
  // Appends a copy of an existing record for `existing`, the places of messages in it, as a lazy
  // record, and returns its new position.
  LogPos append_relocated(const FoundSend& found, std::span<const std::size_t> existing,
                          Instant now);

 private:
  void append_rows(const ConfigRecord& record);
  void append_part(const IndexEntriesRecord& record);
  void append_part(const TrackedMessagesRecord& record);
  void append_part(const TimesRecord& record);
  void append_part(const DedupRecord& record);
  void append_part(const UnsettledTransferRecord& record);
  void append_part(const ProducersRecord& record);
  void append_part(const FiresRecord& record);
  void append_heads(std::span<const HeadRecord> heads);
  void append_task(const TaskRecord& record);
  void append_replays(std::span<const ReplayRecord> records);
  void append_sends(Effects& effects);
  void commit_send(std::size_t bytes, std::size_t messages, bool relocated);
  void append_receives(const Effects& effects);
  void append_deletes(const Effects& effects);

  Geometry geometry_;
  FrameWriter& frames_;
  Image& image_;
  SegmentPool& pool_;
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Checkpointer: decides when a checkpoint of the log is due, appends its slices, and puts it into
// effect.
//
//   none --begin()--> begun --append()--> writing --end()--> ended --durable--> named --> none
//     ^                                     |  ^             |                    |
//     due()                                 +--+ append()    pump() waits         the manifest is
//                                                                                 durable
//
// A checkpoint is the slices between begin() and end(), and the records of the turns between them.
// It takes effect when it, and then a manifest that names it, are durable. The next one may begin
// after that.
//
// Units:  Lsn; bytes.
// Limits: one checkpoint at a time.
// Errors: pump(): a failed write of the manifest, which is the log's failure.
// Owner:  the log of one shard, which owns the other parts.
// Source: wal/SPACE.md, "Checkpoints, segments, recovery".
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/result.h"
#include "core/base/time.h"
#include "core/queue/checkpoint.h"
#include "wal/format/format.h"
#include "wal/frame_writer.h"
#include "wal/manifest.h"
#include "wal/record_appender.h"
#include "wal/segments/segment_pool.h"
#include "wal/segments/space_budget.h"

namespace pawl {

class Checkpointer {
 public:
  Checkpointer(const Geometry& geometry, ManifestFiles& manifest, const FrameWriter& writer,
               RecordAppender& appender, const SegmentPool& pool, SpaceBudget& space)
      : geometry_(geometry),
        manifest_(manifest),
        writer_(writer),
        appender_(appender),
        pool_(pool),
        space_(space) {}

  // True: enough was appended since the checkpoint in force began.
  bool due() const;
  // The log's end before which due() stays false, unless pump() or the pool changes something.
  Lsn due_from() const;
  // True: free space is low, and other records since its begin outweigh the checkpoint itself.
  bool lags() const;

  void begin();
  void append(CheckpointSlice& slice, Instant now);  // completes the positions in it
  void end();

  // Hands the manifest of a durable checkpoint to the disk, unless `stopping`, and takes note of a
  // written one.
  Result<void> pump(bool stopping);
  // True: pump() has something to do, or will have when more is durable.
  bool has_work(bool stopping) const;

 private:
  enum class State : std::uint8_t { none, begun, writing, ended };
  Lsn since() const;
  std::uint64_t due_after(bool space_is_short) const;
  void change(State next);

  Geometry geometry_;
  ManifestFiles& manifest_;
  const FrameWriter& writer_;
  RecordAppender& appender_;
  const SegmentPool& pool_;
  SpaceBudget& space_;

  State state_ = State::none;
  Lsn begin_ = 0;            // its first frame
  Lsn end_ = 0;              // of an ended one
  std::uint64_t bytes_ = 0;  // its own size in blocks, without other records between its slices
};

}  // namespace pawl

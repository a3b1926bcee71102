// SPDX-License-Identifier: Apache-2.0
// RepairPlanner: plans the writes that let a damaged log start, with one manifest.
//
//   walk()             follows the chain of frames and rebuilds damaged ones (planner_walk.cc)
//   read_as_a_start()  reads the log as recovery will, and finds lost messages (planner_start.cc)
//   finish()           appends forgotten settings and messages, reserved numbers, and deletes
//
// Errors: Errc::io, Errc::version; RepairPlan::refused if the log cannot be repaired.
// Owner:  plan_repair().
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "wal/repair/append.h"
#include "wal/repair/known.h"
#include "wal/repair/plan.h"
#include "wal/repair/report.h"

namespace pawl {

class RepairPlanner {
 public:
  RepairPlanner(const RepairRequest& request, RepairPlan& plan, const Manifest& manifest,
                bool made_anew, bool doubtful)
      : request_(request),
        plan_(plan),
        content_(plan.content),
        at_(content_.geometry()),
        manifest_(manifest),
        made_anew_(made_anew),
        doubtful_(doubtful) {}

  // `frames`: all whole frames of the log. Called once.
  Result<void> run(std::vector<LogFrameHeader> frames);

 private:
  Lsn begin() const {
    return manifest_.checkpoint != 0 ? manifest_.checkpoint
                                     : at_.frame_position(at_.segment_base(manifest_.first));
  }
  bool older(std::uint64_t number) const { return number < manifest_.first; }
  bool follows(const LogFrameHeader& frame) const {
    return last_ && frame.epoch >= last_->epoch && frame.lsn - frame.prev == last_->lsn &&
           (frame.lsn == content_.frame_position(tail_) ||
            frame.lsn == content_.frame_position(at_.extent_end(tail_ - 1)));
  }

  // --- the chain of frames ---

  Result<void> walk();
  Result<void> close_gap(Lsn from, Lsn to, const LogFrameHeader* next);
  Result<void> close_piece(Lsn from, Lsn to, Lsn piece_end, Lsn last_start,
                           const LogFrameHeader* next);
  Result<void> rebuild(Lsn from, Lsn to, bool exact, const LogFrameHeader* next);
  Result<void> take(const LogFrameHeader& header, bool rebuilt);
  Lsn origin() const;
  void make_segments_whole();

  // --- the result of a recovery ---

  Result<void> read_as_a_start();
  Result<bool> readable(QueueId queue, Seq seq, LogPos position);
  bool served(QueueId id) const;
  Result<void> find_lost();
  Result<void> find_forgotten();

  Result<void> finish();
  void append_numbers(Appendix& appendix);
  void delete_queues(Appendix& appendix);
  Result<void> append_forgotten(Appendix& appendix);

  const RepairRequest& request_;
  RepairPlan& plan_;
  LogContent& content_;
  const Geometry at_;
  Manifest manifest_;
  bool made_anew_;  // the manifest was rebuilt from the segments
  bool doubtful_;   // the checkpoint may be incomplete
  std::vector<LogFrameHeader> frames_;
  std::uint32_t epoch_seen_ = 0;

  std::vector<std::pair<LogFrameHeader, bool>>
      log_;  // the repaired log; whether a frame is rebuilt
  std::optional<LogFrameHeader> last_;
  Lsn tail_ = 0;
  Known all_;    // from all records
  Known start_;  // from the records that recovery reads
  // Numbers assigned before the first frame that recovery reads.
  std::optional<std::map<QueueId, Known::Given>> before_;
  std::uint64_t lost_bytes_ = 0;             // in the part that recovery reads
  std::uint64_t lost_checkpoint_bytes_ = 0;  // in the checkpoint
  MessageList unreadable_, forgotten_;
  std::map<std::pair<QueueId, Seq>, LogPos> forgotten_at_;
  std::vector<ConfigRecord> forgotten_settings_;
  std::uint64_t kept_ = 0;  // records salvaged from damaged frames
};

}  // namespace pawl

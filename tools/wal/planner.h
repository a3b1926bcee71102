// RepairPlanner: what is to be written so that a damaged log starts, with one manifest.
//
//   walk()             frame after frame as they follow each other; what is damaged between is made whole (planner_walk.cc)
//   read_as_a_start()  what a start would know then, and what it could not read (planner_start.cc)
//   finish()           what is appended: numbers, what was forgotten, what is gone
//
// Errors: what cannot be read, of the disk; RepairPlan::refused when nothing can be made of it.
// Owner:  plan_repair().
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tools/wal/append.h"
#include "tools/wal/known.h"
#include "tools/wal/repair.h"
#include "tools/wal/report.h"

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

  // With the frames that are whole; once.
  Result<void> run(std::vector<LogFrameHeader> frames);

 private:
  Lsn begin() const {
    return manifest_.checkpoint != 0 ? manifest_.checkpoint
                                     : at_.frame_place(at_.segment_base(manifest_.first));
  }
  bool older(std::uint64_t number) const { return number < manifest_.first; }
  bool follows(const LogFrameHeader& frame) const {
    return last_ && frame.epoch >= last_->epoch && frame.lsn - frame.prev == last_->lsn &&
           (frame.lsn == content_.frame_place(tail_) ||
            frame.lsn == content_.frame_place(at_.extent_end(tail_ - 1)));
  }

  // --- what follows what ---

  Result<void> walk();
  Result<void> close_gap(Lsn from, Lsn to, const LogFrameHeader* next);
  Result<void> close_piece(Lsn from, Lsn to, Lsn piece_end, Lsn last_start,
                           const LogFrameHeader* next);
  Result<void> rebuild(Lsn from, Lsn to, bool exact, const LogFrameHeader* next);
  Result<void> take(const LogFrameHeader& header, bool rebuilt);
  Lsn origin() const;
  void make_segments_whole();

  // --- what a start knows ---

  Result<void> read_as_a_start();
  Result<bool> readable(QueueId queue, Seq seq, LogPos position);
  bool served(QueueId id) const;
  Result<void> find_lost();
  Result<void> find_forgotten();

  Result<void> finish();
  void append_numbers(Appendix& appendix);
  void remove_queues(Appendix& appendix);
  Result<void> append_forgotten(Appendix& appendix);

  const RepairRequest& request_;
  RepairPlan& plan_;
  LogContent& content_;
  const Geometry at_;
  Manifest manifest_;
  bool made_anew_;  // out of the segments
  bool doubtful_;   // the checkpoint may not be whole
  std::vector<LogFrameHeader> frames_;
  std::uint32_t epoch_seen_ = 0;

  std::vector<std::pair<LogFrameHeader, bool>> log_;  // frames as they will be; rebuilt
  std::optional<LogFrameHeader> last_;
  Lsn tail_ = 0;
  Known all_;    // by all records there are
  Known start_;  // by those a start reads
  std::optional<std::map<QueueId, Known::Given>>
      before_;                               // numbers given out where a start begins to read
  std::uint64_t lost_bytes_ = 0;             // of what a start reads
  std::uint64_t lost_checkpoint_bytes_ = 0;  // of these, in the checkpoint
  MessageList unreadable_, forgotten_;
  std::map<std::pair<QueueId, Seq>, LogPos> forgotten_at_;
  std::vector<ConfigRecord> forgotten_settings_;
  std::uint64_t kept_ = 0;  // records, in damaged frames
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Upkeep: the work of a log that no record asked for. Its parts are visited when they are armed.
//
//   idle --arm(), a finished operation, a figure, a time--> armed --run()--> visited --> idle
//                                                             ^                 |
//                                                             +---- work left --+
//
// A part is armed by a call that gives it work, by a finished operation of the disk, and when the
// log leaves UpkeepBounds: figures that no part needs to look at while they hold. A lone send arms
// none.
//
// Units:  Instant ms.
// Limits: one visit of each part a run, in the order of LogPart.
// Errors: run() returns the failure of a write, which is the log's.
// Owner:  the log of one shard, which owns the parts.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "core/base/armed_parts.h"
#include "core/base/mutant.h"
#include "core/base/time.h"
#include "wal/body_reader.h"
#include "wal/checkpointer.h"
#include "wal/frame_writer.h"
#include "wal/image.h"
#include "wal/manifest.h"
#include "wal/relocation.h"
#include "wal/segments/segment_pool.h"
#include "wal/segments/space_budget.h"
#include "wal/segments/upkeep_bounds.h"
#include "wal/send_reader.h"

namespace pawl {

struct LogFailure {
  int sys = 0;  // errno
  Lsn lsn = 0;
  const char* what = "";
};

// The parts of a log that are visited only when they are armed, in the order of the visits.
enum class LogPart : std::uint8_t {
  checkpoint,  // Checkpointer: an ended one is named in the manifest, and a new one is due
  rest,        // the manifest vouches for a log at rest
  reclaim,     // segments without messages are retired
  tidy,        // memory and disk follow the messages that exist
  segments,    // SegmentPool: files are made, filled or deleted
  bodies,      // BodyReader
  relocation,  // Relocation
  replay,      // SendReader
  end
};

class Upkeep {
 public:
  struct Parts {
    const Geometry& geometry;
    Image& image;
    SegmentPool& pool;
    BodyReader& reader;
    Relocation& relocation;
    SendReader& send_reader;
    ManifestFiles& manifest;
    const FrameWriter& writer;
    SpaceBudget& space;
    Checkpointer& checkpointer;
  };

  // All parts are armed. `vouch_after`: the rest of a log before the manifest vouches for its end.
  Upkeep(const Parts& parts, Duration vouch_after);

  void arm(LogPart part) {
    if (!forgets(part)) armed_.arm(part);
  }
  // `others`: finished operations of the disk that were not the writer's.
  void note_finished(std::uint64_t others);
  // Visits the armed parts.
  std::optional<LogFailure> run(Instant now);
  // The log is closing: no new work begins.
  void stop() { stopping_ = true; }
  bool stopping() const { return stopping_; }
  // The latest time of the next run() if nothing else arms a part; `never`: none.
  Instant next_due() const {
    return stopping_ ? never : std::min({segments_due_, vouch_due(), tidy_due()});
  }

  bool checkpoint_due() const { return checkpoint_due_; }
  void checkpoint_begun() { checkpoint_due_ = false; }
  bool relocatable() const { return relocatable_; }  // Relocation::next() has work
  void set_relocatable(bool yes) {
    relocatable_ = yes;
    if (!yes) arm(LogPart::relocation);
  }

 private:
  static constexpr Duration tidy_every = seconds(1);

  static bool forgets(LogPart part);  // one of the seeded mistakes
  void note_rest(Instant now);
  void arm_by_figures(Instant now);
  std::optional<LogFailure> visit(Instant now);
  void vouch();
  void reclaim();
  void tidy(Instant now);
  void relocate();
  bool has_work(LogPart part, Instant now) const;
  void rearm(Instant now);
  void check_armed(Instant now) const;
  void check_marks() const;
  std::uint64_t relocated_below() const;
  Instant vouch_due() const {
    const bool owed =
        resting_since_ != never && vouched_ < parts_.writer.durable() && !MUTANT(forget_vouch);
    return owed ? resting_since_ + vouch_after_ : never;
  }
  // Messages were released since the latest tidy(), or it left something.
  Instant tidy_due() const {
    return tidied_ != parts_.pool.released() || tidy_again_ ? tidied_at_ + tidy_every : never;
  }

  Parts parts_;
  Duration vouch_after_;
  ArmedParts<LogPart> armed_;
  UpkeepBounds bounds_;
  std::uint64_t others_finished_ = 0;   // at the latest note_finished()
  std::uint64_t entered_ = UINT64_MAX;  // the writer's segment at the latest visit
  std::uint64_t looked_below_ = 0;      // the pool's, at the latest visit
  Instant segments_due_;                // of the pool, at the latest visit
  Lsn vouched_ = 0;                     // by the manifest; UINT64_MAX: it is being written
  bool checkpoint_due_ = false;
  bool relocatable_ = false;
  Instant resting_since_ = never;  // everything appended is durable since then
  std::uint64_t tidied_ = 0;       // messages released until the latest tidy()
  Instant tidied_at_;
  bool tidy_again_ = false;
  bool stopping_ = false;
};

inline bool Upkeep::forgets([[maybe_unused]] LogPart part) {
  return (part == LogPart::checkpoint && MUTANT(forget_to_arm_checkpoint)) ||
         (part == LogPart::rest && MUTANT(forget_to_arm_rest)) ||
         (part == LogPart::reclaim && MUTANT(forget_to_arm_reclaim)) ||
         (part == LogPart::tidy && MUTANT(forget_to_arm_tidy)) ||
         (part == LogPart::segments && MUTANT(forget_to_arm_segments)) ||
         (part == LogPart::bodies && MUTANT(forget_to_arm_bodies)) ||
         (part == LogPart::relocation && MUTANT(forget_to_arm_relocation)) ||
         (part == LogPart::replay && MUTANT(forget_to_arm_replay));
}

}  // namespace pawl

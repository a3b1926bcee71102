// SPDX-License-Identifier: Apache-2.0
// SegmentDemand: how much space should be ready ahead of the log's end, and which files are too
// many.
//
//   rests --tail enters a new segment--> grows --rest_after in one segment--> rests
//
// While the log grows, `spares` whole segments are wanted ahead, and ready and retired files
// together with the wanted bytes. A log rests when it is new, and when the tail has been in one
// segment for rest_after. Then the space ahead exceeds the wanted bytes by half a small segment, or
// by the largest record if that is more, and one unwanted file goes each shrink_every.
//
// A request that is larger asks for its space: it is ahead as soon as the disk gives it, and the
// rest begins anew.
//
// Units:  bytes.
// Owner:  SegmentPool. It decides; SegmentMaker makes and deletes the files.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/base/mutant.h"
#include "core/base/time.h"
#include "wal/format/format.h"
#include "wal/format/record_types.h"
#include "wal/segments/retired_files.h"
#include "wal/segments/segment_table.h"
#include "wal/segments/upkeep_bounds.h"

namespace pawl {

// The free bytes wanted ahead of the log's end: `least`, and UpkeepBounds::message_bytes for each
// message, but no more than `most`.
struct ReserveRule {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  std::uint64_t bytes(std::uint64_t messages) const {
    return std::min(least + UpkeepBounds::message_bytes * messages, most);
  }
};

class SegmentDemand {
 public:
  static constexpr Duration rest_after = seconds(300);
  static constexpr Duration shrink_every = seconds(60);

  SegmentDemand(const Geometry& geometry, const SegmentTable& table, const RetiredFiles& retired,
                std::uint32_t spares, bool small_segments)
      : geometry_(geometry),
        table_(table),
        retired_(retired),
        small_segments_(small_segments),
        spares_(spares) {}

  // Sets the free bytes wanted ahead of `end`, the current end of the log, in addition to one
  // segment being filled.
  void want(std::uint64_t bytes, Lsn end);
  std::uint64_t wanted() const { return wanted_bytes_; }
  Lsn end() const { return end_ == UINT64_MAX ? 0 : end_; }  // of the log; 0: not known yet
  void grow() { grows_ = true; }
  // Wants so many bytes more than want(), until the next rest, for a request that waits for them.
  void ask(std::uint64_t bytes);
  // True: bytes asked for are not ahead yet.
  bool owes() const { return asked_ > 0 && free_space_behind(end()) < wanted_bytes_ + asked_; }
  void note_tail(Instant now);

  // The bytes that the log can append without more disk space. A filled retired file counts: it
  // needs none to be ready again.
  std::uint64_t free_space_behind(Lsn end) const;
  // The usable bytes of the next segment.
  std::uint64_t next_usable_bytes() const;
  // True: no further segment is wanted.
  bool enough() const;
  // True: a request of the largest size would wait for space.
  bool is_urgent() const;

  // Free bytes ahead at rest, in addition to the wanted ones: a record of any size finds space.
  std::uint64_t least_beyond() const {
    const std::uint64_t record =
        std::min<std::uint64_t>(record_bytes_max, geometry_.record_space());
    return std::max({small_usable_bytes() / 2, geometry_.segment_bytes / 8 + record, asked_});
  }
  bool too_many_retired() const {
    return retired_.size() > (shrinks_ ? retired_wanted() : wanted_files());
  }
  bool too_many_spares() const;
  bool may_shrink() const { return shrinks_; }  // one file may be deleted now
  void shrunk() { shrinks_ = false; }
  // Notes that no file is to be made, filled or deleted.
  void note_satisfied();
  // The same for a segment being made whose next zeros may wait. False: the end is not known yet.
  bool note_calm();
  // True: what was noted still holds before next_look() with so many wanted bytes behind this end
  // of the log, without another look at all figures.
  bool satisfied(std::uint64_t wanted, Lsn end) const {
    if (MUTANT(rest_forever)) return true;
    return noted_.tail == table_.tail() && noted_.ready_end == table_.ready_end() &&
           noted_.retired == retired_.size() && wanted >= noted_.wanted_min &&
           wanted <= noted_.wanted_max && wanted + end <= noted_.sum_max && end <= noted_.end_max;
  }
  bool satisfied() const { return satisfied(wanted_bytes_, end_); }
  // Narrows `bounds` so that satisfied() stays true within them. The wanted bytes are `reserve`.
  void narrow(UpkeepBounds& bounds, const ReserveRule& reserve) const;
  Instant next_look() const { return shrink_at_; }
  Instant noted_shrink() const { return noted_.shrink; }  // next_shrink() at note_satisfied()
  // The time of the next deletion at rest; `never`: no file is too many.
  Instant next_shrink() const {
    return retired_.size() > retired_wanted() || too_many_spares() ? shrink_at_ : never;
  }

 private:
  std::uint64_t small_usable_bytes() const;
  std::uint64_t most_beyond() const { return std::max(small_usable_bytes(), least_beyond()); }
  // Free space behind the end in segments that are ready.
  std::uint64_t ready_space() const {
    return table_.tail() < table_.ready_end() ? table_.rest_of_tail(end_) + table_.spare_usable()
                                              : 0;
  }
  std::uint64_t wanted_files() const;
  std::uint64_t retired_wanted() const;

  Geometry geometry_;
  const SegmentTable& table_;
  const RetiredFiles& retired_;
  bool small_segments_;
  std::uint64_t spares_;  // ready ahead while the log grows
  std::uint64_t wanted_bytes_ =
      0;                     // wanted space; retired files may provide the part beyond the spares
  std::uint64_t asked_ = 0;  // space for waiting requests, beyond wanted_bytes_
  Lsn end_ = UINT64_MAX;     // end of the log; UINT64_MAX: not known yet
  std::uint64_t rested_in_ = UINT64_MAX;  // the tail was in this segment at the latest note_tail()
  Instant shrink_at_ = never;
  // The figures at the latest note_satisfied() or note_calm(), and the limits within which it stays
  // true.
  struct Noted {
    std::uint64_t tail = UINT64_MAX;
    std::uint64_t ready_end = 0;
    std::size_t retired = 0;
    std::uint64_t wanted_min = 0;  // with fewer wanted bytes a file is too many
    std::uint64_t wanted_max = 0;
    std::uint64_t sum_max = 0;  // of the wanted bytes and the end
    Lsn end_max = UINT64_MAX;
    Instant shrink = never;
  };
  Noted noted_;
  bool grows_ = false;    // the log does not rest
  bool shrinks_ = false;  // one file may be deleted now
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// SegmentRetention: the segments kept for replay, although they hold no message.
//
//   | too old, or beyond the limit |  kept for replay  | in the log |
//   ^ first()        kept_since_ ^ or a replay task's position       ^ tail()
//
// A segment lies before a time if the next one was begun before it. Everything from kept_from() on
// is kept, unless the disk is full.
//
// Limits: segments_max segments before the tail.
// Owner:  SegmentPool.
#pragma once

#include <cstdint>

#include "core/base/time.h"
#include "wal/segments/segment_table.h"

namespace pawl {

class SegmentRetention {
 public:
  static constexpr std::uint64_t segments_max = 16'384;

  explicit SegmentRetention(const SegmentTable& table) : table_(table) {}

  // Keeps everything written at `since` or later (never: nothing), and from segment `number` on.
  void keep(Instant since, std::uint64_t number);
  std::uint64_t kept_from() const { return kept_from_; }
  // The oldest segment that may contain a record written at `since` or later.
  std::uint64_t first_since(Instant since) const;
  // The first segment begun after `at`; one past the tail if none.
  std::uint64_t first_after(Instant at) const;
  // The space of segments below `below` that are kept only for replay.
  std::uint64_t bytes(std::uint64_t below) const;

 private:
  const SegmentTable& table_;
  std::uint64_t kept_from_ = UINT64_MAX;  // first segment kept for replay
  std::uint64_t kept_since_ = 0;          // segments below it are too old for replay
};

}  // namespace pawl

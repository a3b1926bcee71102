// SPDX-License-Identifier: Apache-2.0
// SendMarks: when the messages of a queue came, to within a quarter of their age, in at most 128
// marks.
//
//   no mark: unknown | joined marks, the wider the older | a mark for each ms with sends |
//
// When there is no space for another mark, neighbours are joined while a mark spans at most half of
// its age; its messages count as sent in the middle.
//
// Units:  Instant, ms.
// Limits: marks_max marks, 3 KiB. They reach back over six years of sends in each ms; beyond, the
//         oldest is dropped.
// Owner:  the statistics of a labelled queue, core/queue/queue_stats.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/base/time.h"
#include "core/base/usage.h"

namespace pawl {

class SendMarks {
 public:
  static constexpr std::size_t marks_max = 128;

  // The messages from `first` to before `end` came at `at`.
  struct Sends {
    Seq first = 0, end = 0;
    Instant at = never;  // never: unknown
  };

  explicit SendMarks(std::uint64_t& bytes_total) : usage_(bytes_total) {}

  // The messages from `first` on come now; numbers and times rise.
  void note(Seq first, Instant now) {
    if (marks_.empty() || now > marks_.back().last) add(first, now);
  }
  // The messages that came with this one.
  Sends around(Seq seq) const;
  std::size_t size() const { return marks_.size(); }

 private:
  struct Mark {
    Seq first = 0;
    Instant begin, last;
  };

  void add(Seq first, Instant now);
  void join(Instant now);

  std::vector<Mark> marks_;
  UsageCounter usage_;
};

}  // namespace pawl

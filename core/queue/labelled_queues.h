// SPDX-License-Identifier: Apache-2.0
// LabelledQueues: the queues that have metrics of their own. The metrics of all others are summed.
//
// A queue gets its label when it is created while labels are free, or at a start in order of the
// ids, and keeps it until it is deleted: so no counter of a label ever goes back, nor does the sum.
// Every shard hears of all queues in the same order, and therefore has the same set.
//
// Limits: `most` labels.
// Owner:  core/shard/statistics.h; plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>

#include "core/base/check.h"
#include "core/base/ids.h"

namespace pawl {

class LabelledQueues {
 public:
  static constexpr std::size_t most_default = 1'000;

  explicit LabelledQueues(std::size_t most) : most_(most) {}

  // A new queue.
  void add(QueueId id) {
    if (labelled_.size() < most_) labelled_.insert(raw(id));
    CHECK(labelled_.size() <= most_, "{} of {} labels", labelled_.size(), most_);
  }
  void drop(QueueId id) { labelled_.erase(raw(id)); }
  void clear() { labelled_.clear(); }
  bool has(QueueId id) const { return labelled_.contains(raw(id)); }
  std::size_t size() const { return labelled_.size(); }
  std::size_t most() const { return most_; }

 private:
  std::size_t most_;
  std::unordered_set<std::uint32_t> labelled_;
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "core/queue/send_marks.h"

#include <algorithm>

#include "core/base/check.h"

namespace pawl {

void SendMarks::add(Seq first, Instant now) {
  CHECK(marks_.empty() || marks_.back().first < first, "seq {} comes twice", first);
  if (marks_.size() == marks_max) join(now);
  CHECK(marks_.size() < marks_max, "{} marks are left", marks_.size());
  marks_.push_back({first, now, now});
  usage_.set(marks_.capacity() * sizeof(Mark));
}

void SendMarks::join(Instant now) {
  std::size_t kept = 1;
  for (std::size_t i = 1; i < marks_.size(); ++i) {
    Mark& before = marks_[kept - 1];
    const Mark& mark = marks_[i];
    if (mark.last - before.begin > Duration{(now - mark.last).ms / 2})
      marks_[kept++] = mark;
    else
      before.last = mark.last;
  }
  marks_.resize(kept);
  if (kept == marks_max) marks_.erase(marks_.begin());
}

SendMarks::Sends SendMarks::around(Seq seq) const {
  const auto next = std::ranges::upper_bound(marks_, seq, {}, &Mark::first);
  const Seq end = next == marks_.end() ? seq_max + 1 : next->first;
  if (next == marks_.begin()) return {.first = 0, .end = end};
  const Mark& mark = *(next - 1);
  CHECK(mark.first <= seq && seq < end, "seq {} from {} to {}", seq, mark.first, end);
  return {.first = mark.first,
          .end = end,
          .at = mark.begin + Duration{(mark.last - mark.begin).ms / 2}};
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "core/queue/queue.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace pawl {

namespace {

Duration grain_of(Duration retention) {
  return Duration{std::max<std::int64_t>(1000, retention.ms / SendTimes::buckets_a_retention)};
}

}  // namespace

void SendTimes::fit() {
  buckets_.fit();
  count_bytes();
}

void SendTimes::count_bytes() {
  usage_.set(buckets_.capacity() * sizeof(Bucket) + marks_.capacity() * sizeof(Mark));
}

bool SendTimes::note(Seq seq, Instant sent, Duration retention) {
  const Duration grain = grain_of(retention);
  const bool begins = buckets_.empty() || sent - buckets_.back().opened >= grain;
  if (begins) {
    buckets_.push_back({.first = seq, .opened = sent, .last = sent});
    count_bytes();
  }
  if (marked_ && (marks_.empty() || sent > marks_.back().last)) mark(seq, sent);
  buckets_.back().last = std::max(buckets_.back().last, sent);
  end_ = seq + 1;
  return begins;
}

void SendTimes::forget_below(Seq oldest) {
  while (buckets_.size() > 1 && buckets_[1].first <= oldest) buckets_.pop_front();
  fit();
}

void SendTimes::clear() {
  buckets_.clear();
  marks_.clear();
  fit();
}

std::vector<SendTimes::Bucket> SendTimes::buckets() const {
  std::vector<Bucket> all;
  all.reserve(buckets_.size());
  for (std::size_t i = 0; i < buckets_.size(); ++i) all.push_back(buckets_[i]);
  return all;
}

void SendTimes::restore(const std::vector<Bucket>& buckets, Seq end) {
  for (const Bucket& bucket : buckets) buckets_.push_back(bucket);
  fit();
  end_ = std::max(end_, end);
}

void SendTimes::coarsen(Duration retention) {
  const Duration grain = grain_of(retention);
  RingQueue<Bucket> joined;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    const Bucket& bucket = buckets_[i];
    if (joined.empty() || bucket.last - joined.back().opened >= grain) {
      joined.push_back(bucket);
    } else {
      joined.back().last = std::max(joined.back().last, bucket.last);
    }
  }
  CHECK(joined.size() <= buckets_.size(), "{} of {} buckets", joined.size(), buckets_.size());
  buckets_ = std::move(joined);
  fit();
}

Instant SendTimes::next_expiry(Duration retention) const {
  return buckets_.empty() ? never : buckets_.front().last + retention;
}

Seq SendTimes::expired_below(Instant now, Duration retention) const {
  Seq below = 0;
  for (std::size_t i = 0; i < buckets_.size() && buckets_[i].last + retention <= now; ++i)
    below = i + 1 == buckets_.size() ? end_ : buckets_[i + 1].first;
  return below;
}

Seq SendTimes::expire(Instant now, Duration retention) {
  const Seq below = expired_below(now, retention);
  while (!buckets_.empty() && buckets_.front().last + retention <= now) buckets_.pop_front();
  if (below != 0) fit();
  return below;
}

void SendTimes::mark(Seq first, Instant now) {
  CHECK(marks_.empty() || marks_.back().first < first, "seq {} comes twice", first);
  if (marks_.size() == marks_max) join_marks(now);
  CHECK(marks_.size() < marks_max, "{} marks are left", marks_.size());
  const std::size_t before = marks_.capacity();
  marks_.push_back({first, now, now});
  if (marks_.capacity() != before) count_bytes();
}

void SendTimes::join_marks(Instant now) {
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

SendTimes::Sends SendTimes::around(Seq seq) const {
  const auto next = std::ranges::upper_bound(marks_, seq, {}, &Mark::first);
  const Seq end = next == marks_.end() ? seq_max + 1 : next->first;
  if (next == marks_.begin()) return {.first = 0, .end = end};
  const Mark& mark = *(next - 1);
  CHECK(mark.first <= seq && seq < end, "seq {} from {} to {}", seq, mark.first, end);
  return {.first = mark.first,
          .end = end,
          .at = mark.begin + Duration{(mark.last - mark.begin).ms / 2}};
}

void AgedArrivals::add(Instant sent, Seq seq, const Queue& queue) {
  look(queue);
  CHECK(seq != 0 && seq <= seq_max, "seq {}", seq);
  entries_.emplace(sent.ms, seq);
  count();
}

void AgedArrivals::look(const Queue& queue) {
  for (int i = 0; i < looks_a_change; ++i) {
    const auto at = entries_.upper_bound(looked_at_);
    looked_at_ = at == entries_.end() ? before_all : *at;
    if (at != entries_.end() && queue.is_gone(at->second)) entries_.erase(at);
  }
  count();
}

bool AgedArrivals::copy_behind(Entry& after, const Queue& queue, std::size_t& most,
                               std::vector<Entry>& out) const {
  auto at = entries_.upper_bound(after);
  for (; at != entries_.end() && most > 0; ++at, --most) {
    after = *at;
    if (!queue.is_gone(at->second)) out.push_back(*at);
  }
  return at == entries_.end();
}

void AgedArrivals::restore(const std::vector<Entry>& entries) {
  for (const Entry& entry : entries) entries_.insert(entries_.end(), entry);
  count();
}

bool AgedArrivals::forget(std::size_t most) {
  for (; !entries_.empty() && most > 0; --most) entries_.erase(entries_.begin());
  count();
  return entries_.empty();
}

Instant AgedArrivals::next_expiry(Duration retention) const {
  return entries_.empty() ? never : Instant{entries_.begin()->first} + retention;
}

AgedArrivals::Entry AgedArrivals::expired(Instant now, Duration retention) const {
  return next_expiry(retention) > now ? Entry{} : *entries_.begin();
}

void AgedArrivals::remove(const Entry& entry) {
  CHECK(entry.second != 0 && entry.second <= seq_max, "seq {}", entry.second);
  entries_.erase(entry);
  count();
}

std::vector<Seq> AgedArrivals::numbers() const {
  std::vector<Seq> numbers;
  numbers.reserve(entries_.size());
  for (const Entry& entry : entries_) numbers.push_back(entry.second);
  std::ranges::sort(numbers);
  return numbers;
}

// --- Queue ---

bool Queue::is_gone(Seq seq) const {
  return index.find(seq).absent() &&
         !std::ranges::binary_search(set_aside, seq, {}, &TrackedMessage::seq);
}

void Queue::count_kept() {
  CHECK(replays.size() <= replays_kept, "{} replay tasks", replays.size());
  std::size_t bytes =
      replays.capacity() * sizeof(ReplayTask) + set_aside.capacity() * sizeof(TrackedMessage);
  for (const ReplayTask& task : replays)
    bytes += memory_of(task.destination) + memory_of(task.filter);
  if (moves) {
    CHECK(moves->tasks.size() <= tasks_kept, "{} move tasks", moves->tasks.size());
    bytes += sizeof(Moves) + heap_block_bytes + moves->tasks.capacity() * sizeof(MoveTask);
    for (const MoveTask& task : moves->tasks) bytes += memory_of(task.destination);
  }
  kept.set(bytes);
}

}  // namespace pawl

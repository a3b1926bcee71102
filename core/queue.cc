#include "core/queue.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace pawl {

namespace {

Duration grain_of(Duration retention) {
  return Duration{std::max<std::int64_t>(1000, retention.ms / SendTimes::buckets_a_retention)};
}

}  // namespace

void SendTimes::note(Seq seq, Instant sent, Duration retention) {
  const Duration grain = grain_of(retention);
  if (buckets_.empty() || sent - buckets_.back().opened >= grain) {
    buckets_.push_back({.first = seq, .opened = sent, .last = sent});
  }
  buckets_.back().last = std::max(buckets_.back().last, sent);
  end_ = seq + 1;
}

std::vector<SendTimes::Bucket> SendTimes::buckets() const {
  std::vector<Bucket> all;
  all.reserve(buckets_.size());
  for (std::size_t i = 0; i < buckets_.size(); ++i) all.push_back(buckets_[i]);
  return all;
}

void SendTimes::restore(const std::vector<Bucket>& buckets, Seq end) {
  for (const Bucket& bucket : buckets) buckets_.push_back(bucket);
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
  buckets_ = std::move(joined);
}

Instant SendTimes::next_expiry(Duration retention) const {
  return buckets_.empty() ? never : buckets_.front().last + retention;
}

Seq SendTimes::expire(Instant now, Duration retention) {
  Seq below = 0;
  while (!buckets_.empty() && buckets_.front().last + retention <= now) {
    buckets_.pop_front();
    below = buckets_.empty() ? end_ : buckets_.front().first;
  }
  return below;
}

void AgedArrivals::add(Instant sent, Seq seq, const SeqIndex& index) {
  if (heap_.size() >= prune_at_) {
    std::erase_if(heap_, [&](const Entry& entry) { return index.find(entry.second).absent(); });
    std::ranges::make_heap(heap_, std::greater());
    prune_at_ = std::max(prune_min, 2 * heap_.size());
  }
  heap_.emplace_back(sent.ms, seq);
  std::ranges::push_heap(heap_, std::greater());
}

void AgedArrivals::restore(const std::vector<Entry>& entries) {
  heap_.insert(heap_.end(), entries.begin(), entries.end());
  std::ranges::make_heap(heap_, std::greater());
  prune_at_ = std::max(prune_at_, 2 * heap_.size());
}

Instant AgedArrivals::next_expiry(Duration retention) const {
  return heap_.empty() ? never : Instant{heap_.front().first} + retention;
}

Seq AgedArrivals::expire(Instant now, Duration retention) {
  if (next_expiry(retention) > now) return 0;
  const Seq seq = heap_.front().second;
  std::ranges::pop_heap(heap_, std::greater());
  heap_.pop_back();
  return seq;
}

Seq Queue::next_ready() {
  using Set = SeqIndex::Set;
  const bool returned_first = (turn++ % 4) == 0;
  const Seq seq = index.first_ready(returned_first ? Set::returned : Set::fresh);
  return seq != 0 ? seq : index.first_ready(returned_first ? Set::fresh : Set::returned);
}

}  // namespace pawl

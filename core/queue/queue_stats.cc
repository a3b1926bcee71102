// SPDX-License-Identifier: Apache-2.0
#include "core/queue/queue_stats.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/base/check.h"

namespace pawl {
namespace {

// Bucket 2e has [2^e, 1.5 * 2^e) ms, bucket 2e + 1 the rest of that octave; 0 ms counts as 1.
std::size_t bucket_of(std::uint64_t ms) {
  const std::uint64_t held = std::max<std::uint64_t>(ms, 1);
  const auto octave = static_cast<std::size_t>(std::bit_width(held) - 1);
  const std::uint64_t upper = octave == 0 ? 0 : held >> (octave - 1) & 1;
  return std::min(2 * octave + upper, LeaseTimes::buckets - 1);
}

double begin_of(std::size_t bucket) {
  return std::ldexp(bucket % 2 == 0 ? 1.0 : 1.5, static_cast<int>(bucket / 2));
}

}  // namespace

void LeaseTimes::note(Duration held, std::uint64_t messages) {
  const auto ms = static_cast<std::uint64_t>(std::max<std::int64_t>(held.ms, 0));
  CHECK(messages <= UINT16_MAX - remembered, "{} messages in one request", messages);
  count_ += messages;
  sum_ms_ += ms * messages;
  if (recent_count_ >= remembered) {
    recent_count_ = 0;
    for (std::uint16_t& count : recent_) recent_count_ += count /= 2;
  }
  CHECK(recent_count_ < remembered, "{} leases are remembered", recent_count_);
  const std::size_t bucket = bucket_of(ms);
  CHECK(bucket < buckets, "bucket {} of {} ms", bucket, ms);
  recent_[bucket] = static_cast<std::uint16_t>(recent_[bucket] + messages);
  recent_count_ += static_cast<std::uint32_t>(messages);
}

Duration LeaseTimes::percentile(double share) const {
  CHECK(share > 0 && share <= 1, "a share of {}", share);
  if (recent_count_ == 0) return Duration{0};
  const double wanted = share * recent_count_;
  double before = 0;
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    const double here = recent_[bucket];
    if (here > 0 && before + here >= wanted) {
      const double width = begin_of(bucket + 1) - begin_of(bucket);
      return Duration{
          std::llround(begin_of(bucket) + width * std::clamp((wanted - before) / here, 0.0, 1.0))};
    }
    before += here;
  }
  CHECK(false, "{} of {} leases", before, recent_count_);
}

void DeliveryTimes::note(Duration waited, std::uint64_t messages) {
  const std::int64_t ms = std::max<std::int64_t>(waited.ms, 0);
  const auto* const end = std::ranges::lower_bound(ends_ms, ms);
  const auto bucket = static_cast<std::size_t>(end - ends_ms.begin());
  CHECK(bucket < counts.size(), "bucket {} of {} ms", bucket, ms);
  counts[bucket] += messages;
  sum_ms += static_cast<std::uint64_t>(ms) * messages;
}

void Rate::read(std::uint64_t counter, Instant now) {
  const std::int64_t passed = now.ms - at_.ms;
  if (passed < pause_ms) return;
  CHECK(counter >= counter_, "a counter went back from {} to {}", counter_, counter);
  const double present =
      static_cast<double>(counter - counter_) * 1000.0 / static_cast<double>(passed);
  const double weight =
      read_ ? 1.0 - std::exp(-static_cast<double>(passed) / static_cast<double>(window_ms)) : 1.0;
  per_second_ += weight * (present - per_second_);
  counter_ = counter;
  at_ = now;
  read_ = true;
}

}  // namespace pawl

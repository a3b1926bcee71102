// SPDX-License-Identifier: Apache-2.0
// QueueStats: what has happened to the messages of a queue since the server started.
//
// Every count is a sum kept where the message changes, so that a reader pays and a message hardly
// does. Nothing is written to the log: all begin at 0 at a start.
//
// The time that messages spend in the queue needs no time of sending: all messages together have
// spent (their number x now) - (sum of their arrivals) + (sum of the departures of those that
// left). The two sums are one number here, modulo 2^64, in which the result is exact.
//
// Units:  ms; a Rate is per second.
// Limits: LeaseTimes has 128 bytes, and forgets: a percentile is that of the last 4,096 to 8,192
//         leases, to within a quarter.
// Owner:  core/shard/statistics.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/time.h"

namespace pawl {

enum class QueueCounter : std::uint8_t {
  // messages that came
  sent,     // by a client, a topic or a replay
  arrived,  // from another queue
  // messages that left; each is counted once
  deleted,        // by a consumer
  expired,        // past the retention
  cancelled,      // by its id
  dead_lettered,  // to the dead-letter queue
  redriven,       // to another queue by a message move task
  purged,         // by PurgeQueue or DeleteQueue
  set_aside,      // their bodies cannot be read
  // the rest
  received,        // deliveries, each message as often as it was delivered
  first_received,  // messages delivered for the first time
  late,            // of those: later than x-lag-target after they could be
  returned,        // made visible again by their consumer
  lease_expired,   // visible again because the visibility timeout ended
  backed_off,      // of returned and lease_expired: waits by x-retry-backoff
  late_deletes,    // deletes by a handle whose visibility timeout had ended
  deduplicated,    // sends that were duplicates
  done_receives,   // deliveries that deleted messages had needed
  end
};
inline constexpr auto queue_counters = static_cast<std::size_t>(QueueCounter::end);

// How long consumers held the messages that they deleted: a histogram of two buckets an octave.
class LeaseTimes {
 public:
  static constexpr std::size_t buckets = 52;          // up to 2^26 ms, 18 hours
  static constexpr std::uint32_t remembered = 8'192;  // then all counts are halved

  void note(Duration held, std::uint64_t messages = 1);
  // The time within which this share of the leases ended, 0 < share <= 1; without any 0.
  Duration percentile(double share) const;
  std::uint64_t count() const { return count_; }  // since the start
  std::uint64_t sum_ms() const { return sum_ms_; }

 private:
  std::array<std::uint16_t, buckets> recent_{};
  std::uint32_t recent_count_ = 0;  // sum of recent_
  std::uint64_t count_ = 0, sum_ms_ = 0;
};
static_assert(sizeof(LeaseTimes) <= 128);

// Moving average of a counter's growth, of about the last minute. It is brought up to date when it
// is read; the time between two reads counts as evenly filled.
class Rate {
 public:
  explicit Rate(Instant begin) : at_(begin) {}
  void read(std::uint64_t counter, Instant now);
  double per_second() const { return per_second_; }

 private:
  static constexpr std::int64_t window_ms = 60'000;
  static constexpr std::int64_t pause_ms = 1'000;  // reads in between change nothing

  Instant at_;
  std::uint64_t counter_ = 0;
  double per_second_ = 0;
  bool read_ = false;
};

// Times from when a message could be delivered to when it was, for first deliveries.
struct DeliveryTimes {
  // Ends of the buckets; one more bucket has all that is longer.
  static constexpr std::array<std::int64_t, 13> ends_ms = {
      1, 2, 5, 10, 50, 100, 500, 1000, 5000, 30000, 60000, 300000, 3600000};
  std::array<std::uint64_t, ends_ms.size() + 1> counts{};
  std::uint64_t sum_ms = 0;

  void note(Duration waited, std::uint64_t messages = 1);
};

// Sums of one queue, or of several.
struct QueueSums {
  std::array<std::uint64_t, queue_counters> counters{};
  std::uint64_t messages = 0;  // there now
  std::uint64_t moments = 0;   // sum of departures less sum of arrivals, ms modulo 2^64

  std::uint64_t operator[](QueueCounter counter) const {
    return counters[static_cast<std::size_t>(counter)];
  }
  void count(QueueCounter counter, std::uint64_t n = 1) {
    counters[static_cast<std::size_t>(counter)] += n;
  }
  // Messages that are there when the counting begins. Those that come later: CommitQueue::sent().
  void begin(std::uint64_t n, Instant now) {
    messages += n;
    moments -= n * static_cast<std::uint64_t>(now.ms);
  }
  void leave(QueueCounter counter, std::uint64_t n, Instant now) {
    count(counter, n);
    messages -= n;
    moments += n * static_cast<std::uint64_t>(now.ms);
  }
  // Time that all messages together have spent in the queue since the counting began.
  std::uint64_t message_ms(Instant now) const {
    return messages * static_cast<std::uint64_t>(now.ms) + moments;
  }
};

struct QueueStats {
  explicit QueueStats(Instant begin) : send_rate(begin), delete_rate(begin) {}

  QueueSums sums;
  LeaseTimes leases;
  Rate send_rate, delete_rate;
};

}  // namespace pawl

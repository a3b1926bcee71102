// One standard queue on its shard: its messages, its counts, who waits for it.
//
// A message that only waits is an entry of the SeqIndex. One that was handed out, or is delayed, has a
// Slot besides:
//
//   (index only) --receive--> in_flight --visible again--> visible --receive--> in_flight
//   delayed --time--> visible                    from any: removed, purged, past retention
//
// Units:  Instant, ms.
// Limits: in_flight_max a queue.
// Owner:  core/shard.h. Plain data; the rules are in shard_messages.cc.
#pragma once

#include <cstdint>

#include "core/ids.h"
#include "core/queue_config.h"
#include "core/ring_queue.h"
#include "core/seq_index.h"
#include "core/time.h"

namespace pawl {

inline constexpr std::uint64_t in_flight_max = 120'000;  // SQS Developer Guide, quotas

// The state of its own that a message may have: one cache line.
struct Slot {
  enum class State : std::uint8_t { free, delayed, in_flight, visible };

  LogPos position = log_pos_none;
  Seq seq = 0;
  Instant deadline;        // in flight: visible again; delayed: visible
  Instant first_received;  // 0: never
  Instant last_received;
  QueueId queue = QueueId::none;
  std::uint32_t nonce = 0;       // of the latest delivery
  std::uint32_t generation = 0;  // of its timer; survives the slot's reuse
  std::uint32_t receive_count = 0;
  State state = State::free;
  bool timer_armed = false;
};
static_assert(sizeof(Slot) == 64);

// When the messages of a queue were sent, to the coarseness that retention needs: a bucket of messages
// ends when it is `grain` long, and goes when its last message is past retention. A timer for each
// message would cost 16 bytes; this costs 4096 buckets a queue at most.
class SendTimes {
 public:
  struct Bucket {
    Seq first = 0;
    Instant opened;
    Instant last;
  };
  static constexpr std::int64_t buckets_a_retention = 4096;

  void note(Seq seq, Instant sent, Duration retention);
  bool empty() const { return buckets_.empty(); }
  // When the oldest bucket is past `retention`.
  Instant next_expiry(Duration retention) const;
  // Drops the buckets that are past retention: every message below the answer is too. 0: none.
  Seq expire(Instant now, Duration retention);
  void clear() { buckets_.clear(); }
  // Joins buckets that are finer than the retention asks for.
  void coarsen(Duration retention);

 private:
  RingQueue<Bucket> buckets_;
  Seq end_ = 0;  // one past the newest noted
};

struct Queue {
  Queue(QueueId queue_id, PagePool& pool) : id(queue_id), index(pool) {}

  QueueId id;
  ConfigPtr config;  // null only while a log is replayed
  SeqIndex index;
  SendTimes times;
  Seq next_seq = 1;
  Seq low = 1;  // everything below is gone: purged or past retention
  Seq expired =
      0;  // everything below is past retention; what is not below `low` goes in the turns to come
  std::uint64_t in_flight = 0;
  std::uint64_t delayed = 0;
  Instant purged_at{INT64_MIN / 2};
  Instant retention_armed = never;
  std::uint32_t retention_generation = 0;
  std::uint32_t turn = 0;          // of serving returned and fresh messages, see next_ready()
  std::uint32_t first_waiter = 0;  // rows of the shard's table of waiters
  std::uint32_t last_waiter = 0;
  bool in_match_list = false;

  // What to hand out next, or 0. Of four, one that came back and three fresh, so that a message that is
  // received and let go for ever cannot starve new ones.
  Seq next_ready();
};

}  // namespace pawl

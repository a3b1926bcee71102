// SPDX-License-Identifier: Apache-2.0
// One queue on its shard: its messages, its counts, its waiting receives.
//
// A waiting message is an entry of the SeqIndex; a tracked message also has a Slot (slot.h).
// Visible messages are in the index's bitmaps or, for messages of groups, in Groups.
//
// Units:  Instant, ms.
// Limits: in_flight_max a queue.
// Owner:  core/shard/shard.h. Plain data; the parts of the shard keep the rules.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/base/time.h"
#include "core/base/usage.h"
#include "core/containers/calendar.h"
#include "core/containers/ring_queue.h"
#include "core/containers/task_list.h"
#include "core/queue/attempts.h"
#include "core/queue/dedup.h"
#include "core/queue/fires.h"
#include "core/queue/groups.h"
#include "core/queue/move_task.h"
#include "core/queue/producers.h"
#include "core/queue/queue_config.h"
#include "core/queue/queue_stats.h"
#include "core/queue/replay_task.h"
#include "core/queue/seq_index.h"
#include "core/queue/task_pace.h"

namespace pawl {

inline constexpr std::uint64_t in_flight_max = 120'000;  // SQS Developer Guide, quotas

// Send times of a queue's messages, as coarse as retention allows. A bucket ends when it is `grain`
// long. It is dropped when its last message is past retention or all its messages are deleted.
// A timer for each message would cost 16 bytes; this costs at most 4096 buckets a queue.
//
// With marks it also tells when single messages came, to within a quarter of their age:
//
//   no mark: unknown | joined marks, the wider the older | one for each ms with sends |
//
// When there is no space for another mark, neighbours are joined while a mark spans at most half of
// its age; its messages count as sent in the middle. 128 marks, 3 KiB, reach back over six years
// of sends in each ms; beyond, the oldest is dropped.
class SendTimes {
 public:
  struct Bucket {
    Seq first = 0;
    Instant opened;
    Instant last;
    bool operator==(const Bucket&) const = default;
  };
  static constexpr std::int64_t buckets_a_retention = 4096;

  explicit SendTimes(std::uint64_t& bytes_total) : usage_(bytes_total) {}

  // True: the message begins a new bucket.
  bool note(Seq seq, Instant sent, Duration retention);
  // No message older than `oldest` is left.
  void forget_below(Seq oldest);
  std::size_t size() const { return buckets_.size(); }
  bool empty() const { return buckets_.empty(); }
  // Every message below the result is past retention. 0: none.
  Seq expired_below(Instant now, Duration retention) const;
  // The time at which the oldest bucket is past `retention`.
  Instant next_expiry(Duration retention) const;
  // When the oldest message was sent, a bucket too early at most; `never`: none is noted.
  Instant begin() const { return buckets_.empty() ? never : buckets_.front().opened; }
  // Drops the buckets past retention. Every message below the result is past retention too.
  // 0: none.
  Seq expire(Instant now, Duration retention);
  void clear();
  // For checkpoints; restore() adds behind the existing buckets.
  std::vector<Bucket> buckets() const;
  Seq end() const { return end_; }
  void restore(const std::vector<Bucket>& buckets, Seq end);
  // Joins buckets that are finer than the retention needs.
  void coarsen(Duration retention);

  // --- marks ---
  static constexpr std::size_t marks_max = 128;
  // The messages from `first` to before `end` came at `at`.
  struct Sends {
    Seq first = 0, end = 0;
    Instant at = never;  // never: unknown
  };
  // From now on.
  void keep_marks() { marked_ = true; }
  // The messages that came with this one.
  Sends around(Seq seq) const;
  std::size_t marks() const { return marks_.size(); }

 private:
  struct Mark {
    Seq first = 0;
    Instant begin, last;
  };

  void fit();
  void count_bytes();
  void mark(Seq first, Instant now);
  void join_marks(Instant now);

  RingQueue<Bucket> buckets_;
  Seq end_ = 0;  // one past the newest noted
  bool marked_ = false;
  std::vector<Mark> marks_;
  UsageCounter usage_;
};

struct Queue;

// Messages whose ages do not follow their numbers, by the times from which their retention counts:
// those from another queue that keep their age, and delayed ones whose retention counts from their
// delivery time. Also messages by the ends of their times to live. Each has an entry of 48 bytes.
// Entries of deleted messages are found incrementally as others are added.
class AgedArrivals {
 public:
  using Entry = std::pair<std::int64_t, Seq>;  // sent ms, number
  static constexpr Entry before_all = {INT64_MIN, 0};

  explicit AgedArrivals(std::uint64_t& bytes_total) : usage_(bytes_total) {}

  // Looks also for entries of messages that are deleted from `queue`.
  void add(Instant sent, Seq seq, const Queue& queue);
  void look(const Queue& queue);
  // The time at which the oldest is past `retention`; it may be deleted by then.
  Instant next_expiry(Duration retention) const;
  // The oldest entry, if it is past retention; its number is 0 if none is.
  Entry expired(Instant now, Duration retention) const;
  void remove(const Entry& entry);
  std::vector<Seq> numbers() const;  // rising
  // Copies entries behind `after` whose messages exist, and sets `after` to the last entry
  // examined. Examines at most `most`. True: there are no more.
  bool copy_behind(Entry& after, const Queue& queue, std::size_t& most,
                   std::vector<Entry>& out) const;
  // Takes the pieces of copy_behind() one after the other; the index may not have the messages yet.
  void restore(const std::vector<Entry>& entries);
  // Drops at most `most` entries. False: there are more.
  bool forget(std::size_t most);
  std::size_t size() const { return entries_.size(); }
  static constexpr std::uint64_t entry_bytes = sizeof(Entry) + 32;

 private:
  static constexpr int looks_a_change = 2;

  void count() { usage_.set(entries_.size() * entry_bytes); }

  std::set<Entry> entries_;
  Entry looked_at_ = before_all;
  UsageCounter usage_;
};

// The state that only FIFO queues have.
struct Fifo {
  // `bytes_total`: bytes of everything but the attempts.
  Fifo(std::uint64_t& deduplicated, std::uint64_t& attempts_bytes, std::uint64_t& bytes_total)
      : dedup(deduplicated, bytes_total), attempts(attempts_bytes), usage(bytes_total) {
    usage.set(sizeof(Fifo));
  }

  // Drops expired entries, at most `most` of each kind. False: there may be more.
  bool forget_over(Instant now, std::size_t most) {
    const bool all = dedup.forget_over(now, most);
    return attempts.forget_over(now, most) && all;
  }
  std::size_t size() const { return dedup.size() + attempts.size(); }
  Instant next_over() const { return std::min(dedup.next_over(), attempts.next_over()); }

  Dedup dedup;
  Attempts attempts;
  UsageCounter usage;
  std::vector<TextKey> attempts_noted;  // since the last match(); others may wait with them
};

// The move tasks of a source queue; the last may be running.
struct Moves {
  std::vector<MoveTask> tasks;  // in order of number, at most tasks_kept
  std::uint32_t under_way = 0;  // transfers of the running task
  TaskPace pace;                // earliest start of the next transfer
  bool begun = true;            // the start of the running task is durable
  bool timer_armed = false;
  std::uint32_t generation = 0;  // of the timer

  MoveTask* running() { return running_task(tasks); }
};

// A tracked message in a checkpoint: its state from core/queue/slot.h.
struct TrackedMessage {
  Seq seq = 0;
  LogPos position = log_pos_none;
  Instant deadline;
  Instant since;
  std::uint32_t first_before = 0;  // of Slot
  std::uint32_t receive_count = 0;
  std::uint32_t nonce = 0;
  TextKey group;       // zero: none
  bool waits = false;  // it was received, and waits for its next delivery
  bool final_deadline = false, cancelled = false, aged_apart = false, expired = false;  // of Slot
  bool operator==(const TrackedMessage&) const = default;
};

// Messages that are delayed beyond ShardLimits::calendar_horizon, by time. They have no slot and no
// timer: a page entry and seven bytes. Each is pending in the index; other entries of the calendar
// are out of date.
struct PendingMessages {
  std::unique_ptr<Calendar> calendar;  // null: empty
  std::uint64_t count = 0;             // messages, durable or not
  Instant armed = never;               // the timer for the first bucket
  std::uint32_t generation = 0;        // of the timer
};

// A list of rows of a table, linked through the rows; row 0 is none.
struct RowList {
  std::uint32_t first = 0, last = 0;
  bool empty() const { return first == 0; }
};
struct RowLinks {  // of one row
  std::uint32_t prev = 0, next = 0;
};

struct Queue {
  // `kept_bytes`: counts the bytes of tasks and of messages set aside.
  Queue(QueueId queue_id, PagePool& pool, std::uint64_t& times_bytes, std::uint64_t& kept_bytes)
      : id(queue_id), index(pool), times(times_bytes), kept(kept_bytes) {}

  QueueId id;
  std::uint32_t retention_generation = 0;
  ConfigPtr config;  // null only during recovery
  SeqIndex index;
  std::unique_ptr<Groups> groups;        // from the first message with a group on
  std::unique_ptr<Fifo> fifo;            // from the first message of a FIFO queue on
  std::unique_ptr<Producers> producers;  // standard queue: while it remembers one
  std::unique_ptr<Fires> fires;          // from the first message of a schedule on
  std::unique_ptr<Moves> moves;          // from the first task on
  std::vector<ReplayTask>
      replays;  // in order of number, at most replays_kept; the last may be running
  SendTimes times;
  std::unique_ptr<AgedArrivals> aged;  // from the first message with an age of its own on
  // The ends of times to live that have begun; from the first on.
  std::unique_ptr<AgedArrivals> ttl_ends;
  std::unique_ptr<PendingMessages> pending;  // from the first message delayed for long on
  // Messages whose bodies cannot be read, in rising order of number. The queue continues without
  // them; their records stay in the log, and the next startup tries them again.
  std::vector<TrackedMessage> set_aside;
  UsageCounter kept;                  // bytes of moves, replays and set_aside
  std::unique_ptr<QueueStats> stats;  // null: counted with others; core/shard/statistics.h
  Seq next_seq = 1;
  // Numbers below `reserved` may be given out before their messages are durable, once the
  // reservation is durable: it is below `reserved_durable`.
  Seq reserved = 0;
  Seq reserved_durable = 0;
  Seq low = 1;  // messages below are deleted: purged or past retention
  // Messages below are past retention; those from `low` on are deleted in the next turns.
  Seq expired = 0;
  Seq swept = 0;  // messages below that are still there have Slot::aged_apart
  std::uint64_t in_flight = 0;
  std::uint64_t delayed = 0;      // with a slot, or pending and durable
  std::uint64_t slots = 0;        // messages with a slot
  std::uint64_t leases = 0;       // of other messages in flight
  std::uint64_t moving = 0;       // messages on their way to another queue
  std::uint64_t leaving = 0;      // `moving`, and dead letters that wait to try again
  Instant dead_letters_from;      // no dead letter moves before: the target had no room for one
  Duration dead_letter_pause{0};  // the last one; the next is twice as long
  Instant purged_at{INT64_MIN / 2};
  Instant retention_armed = never;
  bool keeps_apart = false;   // since its first message with Slot::aged_apart
  bool forget_armed = false;  // timer that drops expired entries of `fifo` and `producers`
  std::uint32_t forget_generation = 0;
  bool chose_returned = false;  // last choice between a just returned and a fresh message
  bool grouped_last = false;    // last choice between messages with a group and without
  RowList waiters;              // rows of the shard's table of waiters
  RowList awaiting_moves;       // the waiters that wait only for dead letters to move
  bool in_match_list = false;
  bool wants_transfer = false;  // a dead letter waits until fewer transfers are under way

  // The oldest message, set aside or not; seq_max: none.
  Seq oldest() const {
    const Seq first = index.size() == 0 ? seq_max : index.oldest();
    return set_aside.empty() ? first : std::min(first, set_aside.front().seq);
  }
  // All messages below are gone, or go in the next turns.
  Seq gone_below() const { return keeps_apart ? low : std::max(low, expired); }
  void keep_apart(Slot& slot) { slot.aged_apart = keeps_apart = true; }
  // It is neither there nor set aside.
  bool is_gone(Seq seq) const;
  // The numbers are used up: the queue still delivers messages but never accepts one again.
  bool used_up() const { return next_seq > seq_newest_max; }
  bool has_ready() const { return index.ready() > 0 || (groups && groups->any_ready()); }
  std::uint64_t visible() const { return index.ready() + (groups ? groups->visible() : 0); }
  std::uint64_t pending_count() const { return pending ? pending->count : 0; }
  ReplayTask* replaying() { return running_task(replays); }
  // Call after a change of moves, replays or set_aside.
  void count_kept();
};

}  // namespace pawl

// One queue on its shard: its messages, its counts, who waits for it.
//
// A message that only waits is an entry of the SeqIndex; one with a state of its own has a Slot besides
// (core/slot.h). What may be handed out is in the index's bitmaps, or, for messages of groups, in Groups.
//
// Units:  Instant, ms.
// Limits: in_flight_max a queue.
// Owner:  core/shard.h. Plain data; the rules are in shard_*.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "core/account.h"
#include "core/attempts.h"
#include "core/dedup.h"
#include "core/groups.h"
#include "core/ids.h"
#include "core/move_task.h"
#include "core/pace.h"
#include "core/queue_config.h"
#include "core/replay_task.h"
#include "core/ring_queue.h"
#include "core/seq_index.h"
#include "core/task_list.h"
#include "core/time.h"

namespace pawl {

inline constexpr std::uint64_t in_flight_max = 120'000;  // SQS Developer Guide, quotas

// When the messages of a queue were sent, to the coarseness that retention needs: a bucket of messages
// ends when it is `grain` long, and goes when its last message is past retention or nothing of it is left.
// A timer for each message would cost 16 bytes; this costs 4096 buckets a queue at most.
class SendTimes {
 public:
  struct Bucket {
    Seq first = 0;
    Instant opened;
    Instant last;
    bool operator==(const Bucket&) const = default;
  };
  static constexpr std::int64_t buckets_a_retention = 4096;

  explicit SendTimes(std::uint64_t& account) : share_(account) {}

  // True: a bucket begins with it.
  bool note(Seq seq, Instant sent, Duration retention);
  // Nothing older is left.
  void forget_below(Seq oldest);
  std::size_t size() const { return buckets_.size(); }
  bool empty() const { return buckets_.empty(); }
  // When the oldest bucket is past `retention`.
  Instant next_expiry(Duration retention) const;
  // Drops the buckets that are past retention: every message below the answer is too. 0: none.
  Seq expire(Instant now, Duration retention);
  void clear();
  // For a checkpoint, and out of it: behind what there is.
  std::vector<Bucket> buckets() const;
  Seq end() const { return end_; }
  void restore(const std::vector<Bucket>& buckets, Seq end);
  // Joins buckets that are finer than the retention asks for.
  void coarsen(Duration retention);

 private:
  void fit();

  RingQueue<Bucket> buckets_;
  Seq end_ = 0;  // one past the newest noted
  Share share_;
};

// Messages that came from another queue with an age of their own, by when they were sent. They are in no
// order of their numbers, so each has an entry here: 48 bytes. Entries of messages that have gone are looked for bit
// by bit as others come.
class AgedArrivals {
 public:
  using Entry = std::pair<std::int64_t, Seq>;  // sent ms, number
  static constexpr Entry before_all = {INT64_MIN, 0};

  explicit AgedArrivals(std::uint64_t& account) : share_(account) {}

  // `index`: what is not there has gone; null: nobody knows what has.
  void add(Instant sent, Seq seq, const SeqIndex* index);
  // When the oldest is past `retention`; it may be gone by then.
  Instant next_expiry(Duration retention) const;
  // The number of one that is past retention, or 0.
  Seq expire(Instant now, Duration retention);
  // Copies those behind `after` whose messages are there, looking at `most` at most, and sets `after` to the last it
  // looked at. Whether there are no more.
  bool copy_behind(Entry& after, const SeqIndex* index, std::size_t& most,
                   std::vector<Entry>& out) const;
  // As copy_behind() said, one piece after the other; the index may not know them yet.
  void restore(const std::vector<Entry>& entries);
  // Forgets some, at most `most`. False: there are more of them.
  bool forget(std::size_t most);
  std::size_t size() const { return entries_.size(); }
  static constexpr std::uint64_t entry_bytes = sizeof(Entry) + 32;

 private:
  static constexpr int looks_an_add = 2;

  void count() { share_.set(entries_.size() * entry_bytes); }

  std::set<Entry> entries_;
  Entry looked_at_ = before_all;
  Share share_;
};

// What only FIFO queues have.
struct Fifo {
  // `account`: bytes of all but the attempts.
  Fifo(std::uint64_t& deduplicated, std::uint64_t& attempts_bytes, std::uint64_t& account)
      : dedup(deduplicated, account), attempts(attempts_bytes), share(account) {
    share.set(sizeof(Fifo));
  }

  // Forgets what is over, at most `most` of each kind. False: there may be more of it.
  bool forget_over(Instant now, std::size_t most) {
    const bool all = dedup.forget_over(now, most);
    return attempts.forget_over(now, most) && all;
  }
  std::size_t size() const { return dedup.size() + attempts.size(); }
  Instant next_over() const { return std::min(dedup.next_over(), attempts.next_over()); }

  Dedup dedup;
  Attempts attempts;
  Share share;
  std::vector<TextKey> attempts_noted;  // since the last match(): others may wait with the same
};

// The move tasks that take from a queue: the last of them may be running.
struct Moves {
  std::vector<MoveTask> tasks;  // in order of number, at most tasks_kept
  std::uint32_t under_way = 0;  // transfers of the running one
  Pace pace;                    // when the next may start
  bool begun = true;            // the running one: that it was started is durable
  bool timer_armed = false;
  std::uint32_t generation = 0;  // of the timer

  MoveTask* running() { return running_task(tasks); }
};

// A message with a state of its own, as checkpoints name it: what core/slot.h keeps of it.
struct MessageState {
  Seq seq = 0;
  LogPos position = log_pos_none;
  Instant deadline;
  Instant since;
  std::uint32_t first_ms_before = 0;
  std::uint32_t receive_count = 0;
  std::uint32_t nonce = 0;
  TextKey group;  // zero: none
  bool operator==(const MessageState&) const = default;
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
  // `kept_bytes`: the account of tasks and of messages set aside.
  Queue(QueueId queue_id, PagePool& pool, std::uint64_t& times_bytes, std::uint64_t& kept_bytes)
      : id(queue_id), index(pool), times(times_bytes), kept(kept_bytes) {}

  QueueId id;
  ConfigPtr config;  // null only while a log is replayed
  SeqIndex index;
  std::unique_ptr<Groups> groups;  // from the first message with a group on
  std::unique_ptr<Fifo> fifo;      // from the first message of a FIFO queue on
  std::unique_ptr<Moves> moves;    // from the first task on
  std::vector<ReplayTask>
      replays;  // in order of number, at most replays_kept; the last may be running
  SendTimes times;
  std::unique_ptr<AgedArrivals> aged;  // from the first dead letter of another queue on
  // Messages whose bodies cannot be read, in rising order of number. The queue goes on without them; their records
  // stay where they are, and are tried again at the next start.
  std::vector<MessageState> set_aside;
  Share kept;  // bytes of moves, replays and set_aside
  Seq next_seq = 1;
  Seq reserved = 0;          // numbers below it may be given out before their messages are durable,
  Seq reserved_durable = 0;  // once it is durable that they may: below this one it is
  Seq low = 1;               // everything below is gone: purged or past retention
  Seq expired =
      0;  // everything below is past retention; what is not below `low` goes in the turns to come
  std::uint64_t in_flight = 0;
  std::uint64_t delayed = 0;
  std::uint64_t slots = 0;    // messages with a state of their own
  std::uint64_t moving = 0;   // on their way to another queue
  std::uint64_t leaving = 0;  // these, and dead letters that wait to try again
  Instant purged_at{INT64_MIN / 2};
  Instant retention_armed = never;
  std::uint32_t retention_generation = 0;
  bool fifo_armed = false;  // the timer by which an idle queue forgets what is over
  std::uint32_t fifo_generation = 0;
  bool chose_returned = false;  // the last choice between a message just returned and a fresh one
  bool grouped_last = false;    // the last choice between messages with a group and without
  RowList waiters;              // rows of the shard's table of waiters
  RowList settling;             // of these, receives that wait only for dead letters to be gone
  bool in_match_list = false;
  bool wants_transfer = false;  // a dead letter waits until fewer transfers are under way

  // Of all that is there, set aside or not; seq_max: there is nothing.
  Seq oldest() const {
    const Seq first = index.size() == 0 ? seq_max : index.oldest();
    return set_aside.empty() ? first : std::min(first, set_aside.front().seq);
  }
  // For `aged`: what is set aside is not in it.
  const SeqIndex* all_there() const { return set_aside.empty() ? &index : nullptr; }
  // Its numbers are used up: it gives out messages and takes none, for ever.
  bool used_up() const { return next_seq > seq_newest_max; }
  bool has_ready() const { return index.ready() > 0 || (groups && groups->any_ready()); }
  std::uint64_t visible() const { return index.ready() + (groups ? groups->visible() : 0); }
  ReplayTask* replaying() { return running_task(replays); }
  // After a change of moves, replays or set_aside.
  void count_kept();
};

}  // namespace pawl

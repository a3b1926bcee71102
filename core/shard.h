// A shard: every decision about a message is made here.
//
//   apply(request) ----> effects: records, replies ----log----> appended(), committed() ----> delivered
//   expire(now)    ----/
//
// A pure state machine: the same requests at the same times give the same effects. The shard loop
// (net/shard_loop.h) calls it, writes what it decides to the log, and tells it what became durable; a
// message is handed out only after that.
//
// Units:  Instant and Duration are ms.
// Limits: ShardLimits; each is answered with an error of its request, never by forgetting something.
// Errors: see request.h; they come back in the request and its entries.
// Owner:  one thread at a time. No locks, no clock, no system calls.
// Source: SQS Developer Guide, "Visibility timeout", "Delay queues", "Short and long polling".
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/directory.h"
#include "core/effects.h"
#include "core/ids.h"
#include "core/queue.h"
#include "core/receipt.h"
#include "core/request.h"
#include "core/ring_queue.h"
#include "core/slab.h"
#include "core/timer_wheel.h"

namespace pawl {

struct ShardLimits {
  std::uint32_t slots_max = 64u << 20;  // messages in flight, delayed or received before: 64 B each
  std::size_t directory_bytes_max =
      16 << 20;                         // Directory::bytes(): its snapshot must fit into a segment
  std::uint32_t waiters_max = 100'000;  // long polls
  std::size_t timers_a_turn = 256;
  std::size_t cascade_a_turn = 2048;
  std::size_t doomed_a_turn = 4096;  // messages of purged or deleted queues given back
};

struct ShardIdentity {
  ShardId id{};
  std::uint32_t shards = 1;
  Secret secret{};
  std::uint32_t nonce_seed = 0;  // differs from one start to the next
};

class Shard {
 public:
  Shard(const ShardIdentity& identity, const ShardLimits& limits, Instant start);

  // --- one turn ---
  // Decides about one request. It is answered in `effects.replies`, now or (a long poll) later.
  void apply(Request& request, Instant now, Effects& effects);
  // Visibility, delay, retention and long polls that have run out, and purged messages given back. True:
  // there is more to do at this `now`.
  bool expire(Instant now, Effects& effects);
  // Hands ready messages to whoever waits. Call after everything else of a turn.
  void match(Instant now, Effects& effects);
  // The log has placed the records of this turn; what was sent may be handed out once the log is durable
  // up to `lsn`.
  void appended(Effects& effects, Lsn lsn);
  void committed(Lsn durable, Instant now);

  // Takes a long poll out of the queue; false: it is not (or no longer) waiting.
  bool cancel(Request& request);

  // Answers every long poll as it is, empty: the server is stopping.
  void release_waiters(Effects& effects);

  // When expire() is due next.
  Instant next_deadline() { return doomed_.empty() ? timers_.next() : Instant{0}; }
  bool wants_match() const { return !match_list_.empty(); }

  // --- the directory ---
  const Directory& directory() const { return directory_; }
  // A change decided by the control shard (on the control shard itself apply() has done it).
  void put_config(const ConfigPtr& config);
  void drop_queue(QueueId id, Effects& effects);

  // --- the log's snapshot at the start of a segment ---
  void snapshot(Effects& effects) const;

  // --- recovery: records in the order of the log, then finish_recovery once the directory is complete ---
  void restore(const ConfigRecord& record);
  void restore(const HeadRecord& record);
  void restore(const SendRecord& record);
  void restore(const ReceiveRecord& record);
  void restore(const RemoveRecord& record, std::vector<LogPos>& freed);
  void restore(const PurgeRecord& record, std::vector<LogPos>& freed);
  // Queues that are not in the directory go; `freed` names their records.
  void finish_recovery(Instant now, std::vector<LogPos>& freed);

  std::uint64_t messages() const;
  std::size_t waiting() const { return waiters_.taken(); }
  const ShardIdentity& identity() const { return identity_; }
  const TimerWheel& timers() const { return timers_; }

 private:
  enum Timer : std::uint16_t { timer_message = 1, timer_waiter, timer_retention };
  struct Waiter {
    Request* request = nullptr;
    QueueId queue = QueueId::none;
    std::uint32_t prev = 0, next = 0;
    std::uint32_t generation = 0;
  };
  struct Commit {  // messages sent but not yet durable
    QueueId queue = QueueId::none;
    Seq first = 0;
    std::uint32_t count = 0;
    Lsn lsn = 0;
  };

  // shard_messages.cc
  void send(Queue& queue, Request& request, Instant now, Effects& effects);
  void receive(Queue& queue, Request& request, Instant now, Effects& effects);
  std::uint32_t deliver(Queue& queue, Request& request, Instant now, Effects& effects);
  bool hand_out(Queue& queue, Seq seq, Duration visibility, Instant now, Delivery& delivery,
                Effects& effects);
  void remove(Queue& queue, Request& request, Effects& effects);
  void change_visibility(Queue& queue, Request& request, Instant now, Effects& effects);
  void undeliver(Queue& queue, Request& request, Instant now, Effects& effects);
  Errc change_one(Queue& queue, const ReceiptEntry& entry, Instant now, Effects& effects);
  void purge(Queue& queue, Request& request, Instant now, Effects& effects);
  Result<Receipt> receipt_of(const Queue& queue, const ReceiptEntry& entry) const;
  void erase(Queue& queue, Seq seq, std::vector<LogPos>& freed);
  void record(const Slot& slot, Effects& effects) const;
  std::uint32_t slot_for(Queue& queue, Seq seq, Place place);
  void hide(Queue& queue, std::uint32_t slot, Slot::State state, Instant deadline);
  void hide(Queue& queue, std::uint32_t slot, Slot::State state, Instant now, Duration timeout);
  void show(Queue& queue, std::uint32_t slot);
  void leave_state(Queue& queue, Slot& slot);
  void doom(Queue& queue);
  void arm_retention(Queue& queue);
  void expire_retention(Queue& queue, Instant now, Effects& effects);

  // shard.cc
  void apply_directory(Request& request, Instant now, Effects& effects);
  void create_queue(Request& request, Instant now, Effects& effects);
  bool on_timer(const TimerEntry& entry, Instant now, Effects& effects);
  bool live(const TimerEntry& entry) const;
  Queue* find_queue(QueueId id);
  Queue& make_queue(QueueId id);
  void park(Queue& queue, Request& request, Instant now, Duration wait);
  Request* unpark(Queue& queue, std::uint32_t row);
  void want_match(Queue& queue);
  void give_back_doomed(Effects& effects);

  ShardIdentity identity_;
  ShardLimits limits_;
  Directory directory_;
  std::uint32_t next_queue_id_ = 1;  // control shard
  PagePool pages_;
  std::unordered_map<std::uint32_t, std::unique_ptr<Queue>> queues_;
  Queue* latest_ = nullptr;  // the queue found last
  Slab<Slot> slots_;
  Slab<Waiter> waiters_;
  TimerWheel timers_;
  RingQueue<Commit> commits_;
  std::size_t commits_unplaced_ = 0;  // at the end of commits_: of this turn
  std::vector<QueueId> match_list_;
  std::deque<SeqIndex> doomed_;  // purged or deleted, given back bit by bit
  std::uint32_t nonce_;
};

}  // namespace pawl

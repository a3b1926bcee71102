// SPDX-License-Identifier: Apache-2.0
// The data that the parts of a shard share: limits, directory, queues, slots and timers. Every part
// reads it; the type of a member names the parts that write it.
//
// Units:  Instant and Duration are ms.
// Limits: ShardLimits.
// Owner:  shard.h, which builds it before its parts. Data; the parts keep the rules.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "core/base/armed_parts.h"
#include "core/base/ids.h"
#include "core/base/mutant.h"
#include "core/base/time.h"
#include "core/base/written_by.h"
#include "core/containers/slab.h"
#include "core/containers/timer_wheel.h"
#include "core/queue/deleted_names.h"
#include "core/queue/directory.h"
#include "core/queue/leases.h"
#include "core/queue/queue.h"
#include "core/queue/receipt.h"
#include "core/queue/recent_receives.h"
#include "core/queue/slot.h"
#include "core/shard/statistics.h"

namespace pawl {

struct ShardLimits {
  std::uint32_t slots_max = 64u << 20;  // messages in flight, delayed or received before: 64 B each
  std::size_t directory_bytes_max = Directory::bytes_max;
  std::size_t account_queues_max = Directory::queues_max;  // queues and topics of one account
  Duration deleted_name_wait{0};        // from a delete to the next create of that name; 0: none
  std::uint32_t waiters_max = 100'000;  // long polls
  std::uint64_t dedup_max = 32u << 20;  // sends to FIFO queues in five minutes: 48 B each
  std::uint64_t attempts_bytes_max = 64 << 20;   // receive attempts in five minutes
  std::uint64_t producers_bytes_max = 64 << 20;  // producers in five minutes
  std::size_t swept_a_turn = 256;                // timers that a sweep for stale ones visits
  std::size_t timer_visits_a_turn = 2048;        // expired or moved to a finer wheel
  std::size_t retired_a_turn = 4096;             // freed messages of purged or deleted queues
  std::size_t forgotten_a_turn = 4096;           // expired sends, attempts and producers of a queue
  std::size_t transfers_max = 1024;              // messages on their way to other queues
  // Bytes of messages in transfer; one transfer is always allowed. A message that has not been read
  // yet counts as transfer_bytes_unread.
  std::uint64_t transfer_bytes_max = 64 << 20;
  std::uint64_t transfer_bytes_unread = 1 << 20;
  std::uint32_t moves_under_way = 64;  // transfers of one move task
  std::uint32_t dead_letters_a_receive = 64;
  std::size_t slice_entries = 512;  // checkpoint entries in a turn
  // Messages delayed beyond the horizon wait in a calendar, by times of 2^calendar_bits ms. When
  // such a time begins within the horizon, its messages get slots and timers.
  Duration calendar_horizon = seconds(86'400);
  unsigned calendar_bits = Calendar::bits_max;
  std::size_t slots_of_calendar_a_turn = 1024;  // of one queue
  std::size_t replays_max = 1024;               // replay tasks remembered: 4.5 KiB each at most
  std::size_t replays_running = 64;             // running replay tasks
  std::size_t labelled_queues_max = LabelledQueues::most_default;  // of all shards together
  Seq first_number = 1;  // first number in a new queue; tests begin near the last
  // Freed memory kept for reuse, for each of slots, leases, index and timers.
  std::size_t spare_bytes = 1 << 20;

  // Limits for a shard whose state and log image share `bytes`.
  static ShardLimits for_memory(std::uint64_t bytes);
};

struct ShardIdentity {
  ShardId id{};
  std::uint32_t shards = 1;
  Secret secret{};
  std::uint32_t nonce_seed = 0;  // differs at each startup
  SipKey receipt_key{};
  // When the last handle of version 1 was issued; 0: none was issued; `never`: version 1 was issued
  // until this startup. See ShardState::upgraded.
  Instant upgraded{};
};

// Bytes of a shard in memory.
struct ShardMemory {
  std::uint64_t index = 0;  // 8.3 bytes a message, and the send times
  // 64 bytes a message that is or was more than waiting; a lease has 120 for up to ten messages.
  std::uint64_t slots = 0;
  std::uint64_t timers = 0;  // 16 bytes each, and the calendars: 7 bytes a pending message
  // 48 bytes a send to a FIFO queue for five minutes, 1 KiB a queue that has had a send;
  // receive attempts; producers.
  std::uint64_t dedup = 0;
  std::uint64_t transfers = 0;  // copies of messages on their way to other queues
  // Queue objects, their tasks, messages set aside, this shard's directory, and its part of the
  // configs that all shards share.
  std::uint64_t queues = 0;
  // Long polls with their attempts; the rows of transfers; who received last.
  std::uint64_t waiting = 0;
  std::uint64_t sum() const {
    return index + slots + timers + dedup + transfers + queues + waiting;
  }
};

enum ShardTimer : std::uint16_t {
  timer_message = 1,
  timer_waiter,
  timer_retention,
  timer_moves,
  timer_forget,
  timer_lease,
  timer_calendar
};

// The parts of a shard that are visited only when they are armed, in the order of their visits. The
// part itself arms; the visitor disarms when no work is left.
enum class ShardPart : std::uint8_t {
  reclaim,    // Reclaimer: purged and deleted queues
  moves,      // MoveTasks: tasks whose start has become durable
  match,      // LongPolls: queues that may serve a waiting receive
  replay,     // ReplayTasks, and the replayer of net/engine: tasks, and what the log keeps for them
  schedules,  // Schedules, and the scheduler of net/engine: there is a schedule
  end
};

class DirectoryRequests;
class MessageStates;
class Pending;
class ReceiveRequests;
class Reclaimer;
class Retention;
class Schedules;
class SendHistory;
class Shard;
class StateRestorer;

struct ShardState {
  static constexpr std::uint64_t slot_bytes = sizeof(Slot) + sizeof(TimerEntry);
  // A queue's row, and the ring of its index, which has at least four entries.
  static constexpr std::uint64_t queue_bytes = sizeof(Queue) + 64 + 2 * PagePool::row_bytes;
  static constexpr std::uint64_t map_node_bytes = 32 + 16;  // of std::map, besides its value

  ShardState(const ShardIdentity& own, const ShardLimits& limits_given, Instant start);
  ShardState(const ShardState&) = delete;
  ShardState& operator=(const ShardState&) = delete;

  void arm(ShardPart part) {
    const bool forgets = (part == ShardPart::reclaim && MUTANT(forget_to_arm_purged)) ||
                         (part == ShardPart::moves && MUTANT(forget_to_arm_moves)) ||
                         (part == ShardPart::match && MUTANT(forget_to_arm_match)) ||
                         (part == ShardPart::replay && MUTANT(forget_to_arm_replays));
    if (!forgets) armed.arm(part);
  }
  // Null: the queue does not exist, or belongs to another shard.
  Queue* find_queue(QueueId id);
  // Null: the queue has had no message, task or timer yet.
  Queue* existing_queue(std::uint32_t id) const;
  Queue& make_queue(QueueId id);
  // The queue is gone. Its messages were retired or released before.
  void drop_queue(QueueId id);
  // log_pos_none: the message is not there, or its record is of this turn.
  LogPos position_of(IndexEntry indexed) const {
    if (indexed.is_slot()) return slots[indexed.slot()].position;
    return indexed.is_lease() ? leases->position(indexed) : indexed.position();
  }
  // The message, delayed when it is sent, waits in the calendar of its queue.
  bool is_far(Instant sent, Instant deliver_at) const {
    return Calendar::begin_of(deliver_at, limits.calendar_bits) > sent + limits.calendar_horizon;
  }
  // An index for the messages of a queue.
  SeqIndex new_index() { return SeqIndex(pages); }
  // Any part may change the tracked message in a row; MessageStates takes and frees rows.
  Slot& slot(std::uint32_t row) { return slots.write()[row]; }

  ArmedParts<ShardPart> armed;  // each part arms itself by arm(); the shard visits it
  const ShardIdentity identity;
  const ShardLimits limits;
  // ShardIdentity::upgraded; the end of recovery replaces `never`.
  WrittenBy<Instant, StateRestorer> upgraded;
  // Written by recovery, and then by requests.
  WrittenBy<Directory, DirectoryRequests, StateRestorer> directory;
  WrittenBy<DeletedNames, DirectoryRequests, StateRestorer> deleted_names;       // control shard
  WrittenBy<std::uint32_t, DirectoryRequests, StateRestorer> next_queue_id{1u};  // control shard
  // Counters shared by all queues; they must outlive `queues`. Their writers make the structures
  // that count themselves there.
  WrittenBy<std::uint64_t, SendHistory> deduplicated;  // sends
  WrittenBy<std::uint64_t, MessageStates> groups_bytes;
  WrittenBy<std::uint64_t, SendHistory> attempts_bytes;
  WrittenBy<std::uint64_t, SendHistory> producers_bytes;
  WrittenBy<std::uint64_t, SendHistory> fifo_bytes;             // other state of FIFO queues
  WrittenBy<std::uint64_t, Retention, ShardState> times_bytes;  // SendTimes and AgedArrivals
  WrittenBy<std::uint64_t, Pending> calendar_bytes;
  WrittenBy<std::uint64_t, Reclaimer, ShardState> kept_bytes;  // tasks and messages set aside
  WrittenBy<std::uint64_t, Schedules> fires_bytes;
  PagePool pages;  // written by the index of every queue, and by the shard at the start of a turn
  WrittenBy<std::unordered_map<std::uint32_t, std::unique_ptr<Queue>>, ShardState> queues;
  WrittenBy<Slab<Slot>, MessageStates, ShardState> slots;
  TimerWheel timers;  // each part arms and cancels the timers of its kind; the shard fires them
  WrittenBy<Leases, MessageStates> leases;  // reserves rows of `slots`
  WrittenBy<RecentReceives, ReceiveRequests> recent_receives;
  WrittenBy<bool, Shard> stopping;  // the server is stopping: no transfer begins
  Statistics statistics;            // each part counts what it does to messages

 private:
  Queue* latest_ = nullptr;  // the queue found last
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Scheduler: sends the messages of schedules to the queues of its shard, as requests of its own.
//
//   changed --read--> waits for its next fire --due--> sent --answered--> waits for the next
//                                        ^               \--refused--> tried again
//                                        \----- no message: overlap, missed, no target here
//
// Every shard follows all schedules, so that each fire reaches the queues of all shards. A schedule
// that is deleted after its last fire is deleted when the fire is over on every shard, missed_after
// later: by the shard of its queue; one of a topic, or without a queue, by the control shard.
//
// A fire that the server missed is made up for as the schedule's CatchUp says. A fire is never sent
// twice to a queue: core/queue/fires.h.
//
// Units:  Instant: `now` is engine time; fires are wall time.
// Limits: rows_a_turn schedules read, steps_a_turn fires looked at, both less for long definitions;
//         under_way_max messages and under_way_bytes_max at a time, also of refused ones.
// Errors: a temporary refusal is tried again after a second. The fire for a queue that can never
//         take it is counted as failed.
// Owner:  the shard loop.
// Source: core/queue/schedule.h.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/time_shift.h"
#include "core/queue/schedule.h"
#include "core/shard/shard.h"

namespace pawl {

// How far the shards of a server have come with their fires. Relaxed: each time stands for itself.
class FireProgress {
 public:
  FireProgress() {
    for (auto& ms : over_before_ms_) ms.store(never.ms, std::memory_order_relaxed);
  }
  // All fires before that time, of the wall clock, are over on this shard.
  void set(ShardId shard, Instant over_before) {
    CHECK(raw(shard) < shards_max, "shard {}", raw(shard));
    auto& ms = over_before_ms_[raw(shard)];
    // The shards share cache lines: most turns change nothing, and must not write.
    if (ms.load(std::memory_order_relaxed) != over_before.ms)
      ms.store(over_before.ms, std::memory_order_relaxed);
  }
  // A fire of that time is over on every shard.
  bool is_over(Instant fire) const {
    return std::ranges::all_of(over_before_ms_, [fire](const auto& ms) {
      return ms.load(std::memory_order_relaxed) > fire.ms;
    });
  }

 private:
  std::array<std::atomic<std::int64_t>, shards_max> over_before_ms_;  // by shard
};

struct ScheduleStats {
  std::uint64_t schedules = 0;  // now
  std::uint64_t sent = 0;       // messages
  std::uint64_t failed = 0;     // messages that their queue, or every queue, can never take
  std::uint64_t missed = 0;     // fires left out by the schedule's CatchUp
  std::uint64_t overlapped = 0;
  std::int64_t late_ms_max = 0;  // of a fire that was not missed
};

class Scheduler {
 public:
  static constexpr std::size_t rows_a_turn = 256;
  static constexpr std::size_t steps_a_turn = 512;
  static constexpr std::size_t under_way_max = 256;
  static constexpr std::size_t under_way_bytes_max = 8 << 20;  // the last one may pass it
  static constexpr std::size_t bytes_a_step = 1024;            // of a definition
  static constexpr Duration refused_pause = seconds(1);
  // The server may have ended before it sent the fires of this time.
  static constexpr Duration unsure_before_end = seconds(5);
  // The wall clock may step while the shard sleeps: it looks so often.
  static constexpr Duration clock_look = seconds(10);

  explicit Scheduler(Shard& shard) : shard_(shard) {}
  // Without a reader no schedule can be read.
  // `alive_until`: the server was alive before its start until then, in engine time, which was
  // `lead` behind wall time.
  void read_with(const ScheduleReader& reader, const TimeShift& shift, Instant alive_until,
                 Duration lead, FireProgress& progress) {
    reader_ = &reader;
    shift_ = &shift;
    alive_until_ = alive_until + lead;
    lead_ = lead;
    progress_ = &progress;
    progress_->set(shard_.identity().id, Instant{});
  }

  // Adds the requests to submit: a fan_out to this shard, a delete_queue to the control shard.
  void turn(Instant now, std::vector<Request*>& out);
  bool owns(const Request& request) const {
    return request.fire.schedule != QueueId::none && request.owner == this;
  }
  void on_response(Request& request);

  // The next engine time at which turn() has work if nothing else happens; Instant{0}: at once.
  Instant next_due(Instant now) const;
  bool under_way() const { return under_way_ > 0; }
  // The server is stopping: nothing more is sent.
  void stop() { stopping_ = true; }
  const ScheduleStats& stats() const { return stats_; }

 private:
  struct Row {
    ConfigPtr config;  // as it was read last, and its terms
    ScheduleTerms terms;
    Instant due = never;
    Instant over;            // all fires up to here are over; 0: it has not been read yet
    std::uint32_t left = 0;  // messages of the present fire without an answer
    bool changed = false;    // it is read again when these are answered
    bool deletes = false;    // `due` is the time to delete the schedule
  };
  struct Message {
    FiredMessage content;
    SendEntry entry;
    Request request;
    Instant again;             // refused: when it is tried again
    std::int64_t late_ms = 0;  // when it was first sent; 0: the fire was missed
  };

  std::size_t memory() const;
  Instant over_before() const;
  // One schedule.
  void read(QueueId id, Instant wall);
  void plan(Row& row, Instant due);
  void go_on(Row& row, Instant base, Instant wall);
  Instant base_of(const Row& row, Instant wall) const;
  bool sends_here(const QueueConfig& config, Instant fire) const;
  const ConfigPtr* find_queue(const ScheduleTerms& terms) const;
  bool may_delete(const ScheduleTerms& terms) const;
  bool has_room() const {
    return messages_.size() < under_way_max && under_way_bytes_ < under_way_bytes_max;
  }
  // One fire.
  void take(QueueId id, Instant wall, std::size_t& steps, std::vector<Request*>& out);
  bool catch_up(Row& row, Instant wall, std::size_t& steps);
  void fire(Row& row, Instant wall, std::vector<Request*>& out);
  void end(Row& row, Instant wall, std::vector<Request*>& out);
  void submit(Message& message, std::vector<Request*>& out);
  void ask_to_delete(Row& row, std::vector<Request*>& out);
  // Responses.
  void settle(Message& message, Instant wall);
  bool is_wanted(const Fire& fire) const;
  void try_again(Instant wall, std::vector<Request*>& out);
  void finish(Message& message, Instant wall);

  Shard& shard_;
  const ScheduleReader* reader_ = nullptr;
  const TimeShift* shift_ = &no_shift;
  Instant alive_until_;  // wall time
  Duration lead_{0};
  FireProgress* progress_ = nullptr;
  std::deque<QueueId> unread_;  // changed schedules
  std::unordered_map<QueueId, Row> rows_;
  std::set<std::pair<Instant, QueueId>> due_;
  std::unordered_map<const Request*, std::unique_ptr<Message>> messages_;
  std::vector<Message*> answered_, refused_;
  std::size_t under_way_ = 0, under_way_bytes_ = 0;
  bool stopping_ = false;
  ScheduleStats stats_;
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// The turn of a shard: requests in, decisions, the log, responses out. It uses no socket and no
// kernel call, so the simulator runs this same code.
//
//   submit --(local)---> queue --\                          /--> on_response() at once
//          --(other shard)-> mesh -> apply -> log.append ---+--> when durable: on_response(),
//                                                                or back over the mesh
//
// The control shard's changes to the directory are answered when they are durable and every shard
// has acknowledged them.
//
// Units:  Instant ms; `now_us` is a monotonic clock in microseconds.
// Limits: mesh_a_turn messages of each other shard a turn. memory_max: the image of the log gets
//         the memory that the state leaves, but at least an eighth. When the state takes more than
//         the other seven eighths, sends are refused; a sixteenth later messages from queues of
//         other shards are refused too.
// Errors: Log::failure() is final; the caller must stop the process.
// Owner:  one shard's thread. Requests belong to their submitter until on_response() returns them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/base/check.h"
#include "core/base/mutant.h"
#include "core/containers/ring_queue.h"
#include "core/queue/effects.h"
#include "core/shard/shard.h"
#include "net/engine/change_lines.h"
#include "net/engine/durable_times.h"
#include "net/engine/kept_for_replay.h"
#include "net/engine/mesh.h"
#include "net/engine/replayer.h"
#include "net/engine/scheduler.h"
#include "net/engine/turn_phases.h"
#include "wal/log.h"

namespace pawl {

// The owner of requests: the connections of a shard, or the simulator's clients.
class RequestOwner {
 public:
  virtual ~RequestOwner() = default;
  // Returns the request to its owner. The contents of its deliveries are valid during the call.
  virtual void on_response(Request& request) = 0;
  // The acceptor gave this shard a connection.
  virtual void connection(std::uint64_t number) = 0;
  // Bytes held by the connections; part of the shard's memory.
  virtual std::uint64_t memory() const { return 0; }
};

// A transfer that its target accepted before the startup.
struct ResumedTransfer {
  UnsettledTransfer unsettled;
  ShardId target{};
};

struct LoopStats {
  std::uint64_t turns = 0;
  std::uint64_t requests = 0;
  std::uint64_t sent = 0, received = 0, deleted = 0;
  std::uint64_t from_mesh = 0;
  std::uint64_t refused = 0;            // sends, for lack of disk or memory
  std::uint64_t refused_for_space = 0;  // sends, for lack of disk
  bool memory_full = false;             // sends are refused for lack of memory
  std::uint64_t unreadable = 0;         // messages with unreadable bodies; the last one:
  QueueId unreadable_queue = QueueId::none;
  Seq unreadable_seq = 0;
  // early_*: sends and deletes answered before they were durable. late_async: those that waited for
  // durability although their queue is async.
  std::uint64_t early_async = 0, early_memory = 0, late_async = 0;
  std::int64_t async_behind_max = 0;  // ms: maximum lag of the log at an early async response
};

class ShardLoop {
 public:
  static constexpr std::size_t mesh_a_turn = 64;
  static constexpr std::size_t changes_a_turn = 16;
  // The shares of the memory are looked at again after so many requests and messages of theirs; in
  // every turn while the memory is full.
  static constexpr std::int64_t memory_look = 64;
  static constexpr std::uint32_t wants_max = 16;  // concurrent body reads of a request
  static constexpr std::size_t relocated_idle_turn = 64 << 10;  // bytes
  static constexpr std::size_t relocated_busy_turn = 4 << 10;
  static constexpr std::uint64_t image_share_min = 8;  // an eighth
  // A crash loses only async requests that were answered within this window. While the log is
  // further behind, async requests are answered when durable, like fsync requests.
  static constexpr Duration async_window{100};
  // Instants are rounded down: a period may begin up to 1 ms after its recorded Instant. Timers run
  // this much later, so that no period ends early.
  static constexpr Duration timers_late{1};

  // `memory_max`: bytes for the shard's state and the log's image together; 0: the log's options
  // set the size of the image.
  ShardLoop(Shard& shard, Log& log, MeshPort& port, RequestOwner& request_owner,
            std::uint64_t memory_max = 0);

  // Routes a request to the shard that decides it.
  void submit(Request& request, ShardId target);
  // Cancels a request that may be a parked long poll. True: the caller owns it at once. False: it
  // will be returned by on_response() in any case, soon.
  bool cancel(Request& request, ShardId target);
  void send_connection(ShardId to, std::uint64_t number);

  // Sets the parser for filters of replay tasks; without it no filter can be read.
  void filter_replays_with(MakeMessageFilter make) { replayer_.filter_with(make); }

  Scheduler& scheduler() { return scheduler_; }

  // Measures the spans of its turns from now on.
  void measure(TurnPhases& phases) { phases_ = &phases; }

  // At startup, before the first turn: commits the transfers that other queues have accepted; see
  // share_transfers().
  void resume_transfers(const std::vector<ResumedTransfer>& transfers);

  // Runs one turn. Returns whether it had anything to do.
  bool turn(Instant now, std::uint64_t now_us);
  // The shards to wake for the messages since the last call. Call it after turn() and after all
  // that sends messages behind it: it publishes those too.
  std::uint64_t take_wakes() { return std::exchange(wakes_, 0) | port_->publish(); }

  // RequestOwner::memory() has changed much.
  void memory_changed() { memory_due_ = 0; }

  // The next time turn() is due if nothing arrives; Instant{0}: at once.
  Instant next_deadline();

  // Answers long polls empty, these and later ones, and begins no more transfers.
  void end_polls();
  // Begins shutdown: long polls are answered empty; drained() becomes true when everything is
  // answered and durable. Other shards are needed while asks_others().
  void begin_drain();
  bool asks_others() const { return shard_->transfers() > 0 || replayer_.under_way(); }
  bool drained() const;

  Shard& shard() { return *shard_; }
  Log& log() { return *log_; }
  const LoopStats& stats() const { return stats_; }

 private:
  struct ConfigChange {
    ConfigPtr config;
    bool gone = false;
    Request* request = nullptr;
    std::uint32_t unknown_to = 0;  // shards that have not acknowledged it yet
  };
  struct Waiting {
    Request* request = nullptr;
    Lsn lsn = 0;
  };
  struct Held {  // a request, or a change of a queue
    Request* request = nullptr;
    ConfigChange* change = nullptr;
    ShardId from{};  // sender of the change
  };
  struct Resting {  // a request that does nothing but wait
    Instant until;
    Request* request = nullptr;
  };

  void forget_wait(Request& request);
  void take_messages();
  void take(ShardId from, const MeshMessage& message);
  void apply(Request& request, Instant now);
  bool accept(Request& request, std::uint64_t bytes, Log::From from);
  bool send(Request& request, Instant now);
  void begin(TurnSpan span) {
    if (phases_ != nullptr) phases_->begin(span);
  }
  void end(TurnSpan span) {
    if (phases_ != nullptr) phases_->end(span);
  }
  bool retry_held(Instant now);  // true: a held request or change was processed
  void hold(const Held& held);
  bool overtakes(const Request& request) const;
  void decide(Request& request, Instant now);
  void append(Instant now);
  bool leaves_early(const Request& request, Instant now);
  void progress(Instant now);  // answers requests that became durable, or have rested
  void answer(Request& request);
  void give(Request& request);
  void route(Request& request, ShardId target);
  void pass_on(Transfer& transfer);
  void announce(Request& request);
  void back_home(Request& request);

  // shard_changes.cc
  void take_change(ShardId from, ConfigChange& change);
  void change_queue(ShardId from, ConfigChange& change);
  void known(ConfigChange& change);
  void go_on_with_changes();

  // shard_upkeep.cc
  void share_memory();
  void note_growth(std::size_t messages) {
    if (!MUTANT(forget_to_arm_memory)) memory_due_ -= static_cast<std::int64_t>(messages);
#ifdef PAWL_MUTANTS
    grown_ += static_cast<std::int64_t>(messages);
    CHECK(memory_due_ <= memory_look - grown_, "{} messages until the next look, {} since the last",
          memory_due_, grown_);
#endif
  }
  void keep_for_replay(Instant now);
  void look_into_log(Request& request, Instant now);
  void replay(Instant now);
  void fire_schedules(Instant now);
  void write_checkpoint(Instant now);
  void relocate(Instant now, bool idle);

  // shard_bodies.cc
  void fetch(Request& request, bool copy);
  void fetch_on(Request& request);
  void want(LogPos position, Request& request, std::uint32_t delivery);
  bool take_bodies();
  void take_body(Request& request, Delivery& delivery, const std::byte* record, bool copy);
  void resolve(Request& request);
  void send_transfers();
  void send_transfer(Transfer& transfer, const std::byte* record);

  Shard* shard_;
  Log* log_;
  MeshPort* port_;
  TurnPhases* phases_ = nullptr;  // null: turns are not measured
  RequestOwner* request_owner_;
  std::uint64_t memory_max_;
  Effects effects_;
  Replayer replayer_;
  Scheduler scheduler_;
  std::vector<Request*> fired_;
  KeptForReplay kept_for_replay_;
  RingQueue<Request*> queued_;  // to apply in the next turn
  // Sends waiting for space in the log, and requests and changes that must not overtake them.
  RingQueue<Held> held_;
  std::vector<Resting> resting_;
  std::unordered_map<const void*, std::size_t> held_streams_;  // requests in held_, per stream
  ChangeLines change_lines_;
  RingQueue<QueueId> answered_rows_;  // their next changes may go
  RingQueue<Waiting> waiting_;        // answered when the log is durable
  std::vector<std::unique_ptr<ConfigChange>> changes_;
  Instant now_;
  std::uint64_t wakes_ = 0;
  std::size_t from_mesh_ = 0;
  std::uint64_t unread_ = 0;     // pending body reads
  std::int64_t memory_due_ = 0;  // messages until share_memory() looks again
#ifdef PAWL_MUTANTS
  std::int64_t grown_ = 0;  // messages since it looked
#endif
  bool memory_full_ = false;                // sends are refused
  bool memory_full_for_transfers_ = false;  // messages from other shards are refused, too
  bool polls_end_ = false;
  bool draining_ = false;
  bool more_ = false;  // there is more work at once
  CheckpointSlice slice_;
  std::vector<std::size_t> existing_;  // messages of a record, in relocate()
  bool checkpointing_ = false;
  LoopStats stats_;
  std::unique_ptr<DurableTimes> durable_times_;  // since the first receive that asked for them
};

}  // namespace pawl

// The turn of a shard: requests in, decisions, the log, answers out. No socket and no kernel in here, so
// the simulator runs this very code.
//
//   submit --(local)---> queue --\                          /--> answered() at once
//          --(other shard)-> mesh -> apply -> log.append ---+--> when durable: answered(), or back over the mesh
//
// The control shard's changes to the directory are answered when they are durable and every shard has
// said that it knows them.
//
// Units:  Instant ms; `now_us` is a monotonic clock in microseconds.
// Limits: mesh_a_turn messages of each other shard a turn; memory_max: the image of the log has what the state leaves, but an
//         eighth in any case. When the state takes more than the rest, sends are refused; and a sixteenth
//         later messages from other queues.
// Errors: failure() of the log is final; the caller must stop the process.
// Owner:  one shard's thread. Requests belong to whoever submitted them until answered() names them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/effects.h"
#include "core/ring_queue.h"
#include "core/shard.h"
#include "net/engine/mesh.h"
#include "net/engine/replayer.h"
#include "wal/log.h"

namespace pawl {

// Who asked: the connections of a shard, or the simulator's clients.
class Asker {
 public:
  virtual ~Asker() = default;
  // The request is the asker's again. Contents of its deliveries hold during the call.
  virtual void answered(Request& request) = 0;
  // The acceptor gave this shard a connection.
  virtual void connection(std::uint64_t number) = 0;
  // Bytes that those who ask hold; of the shard's memory.
  virtual std::uint64_t memory() const { return 0; }
};

struct Moved {
  Shard::Came came;
  ShardId target{};
};

struct LoopStats {
  std::uint64_t turns = 0;
  std::uint64_t requests = 0;
  std::uint64_t sent = 0, received = 0, deleted = 0;
  std::uint64_t from_mesh = 0;
  std::uint64_t refused = 0;            // sends, for want of disk or memory
  std::uint64_t refused_for_space = 0;  // of these, for want of disk
  std::uint64_t unreadable = 0;  // messages whose bodies could not be read; the last of them is
  QueueId unreadable_queue = QueueId::none;
  Seq unreadable_seq = 0;
  // Sends and deletes answered before they were on the disk; and those that waited although their queue is async.
  std::uint64_t early_async = 0, early_memory = 0, late_async = 0;
  std::int64_t async_behind_max =
      0;  // ms: how far the log was behind at most when one of async was answered early
};

class ShardLoop {
 public:
  static constexpr std::size_t mesh_a_turn = 64;
  static constexpr std::uint32_t wants_max = 16;  // bodies from the disk at once, of a request
  static constexpr std::size_t relocated_idle_turn = 64 << 10;  // bytes
  static constexpr std::size_t relocated_busy_turn = 4 << 10;
  static constexpr std::uint64_t image_share_min = 8;  // an eighth
  // What a crash takes of all that async queues were promised was answered within so long. While the log is further
  // behind, they are answered as those of fsync are.
  static constexpr Duration async_window{100};
  // Instants are rounded down: the one at which a time began was up to so much later, and no time is to end early.
  static constexpr Duration timers_late{1};

  // `memory_max`: bytes for the shard's state and the log's image together; 0: the log's options say how large
  // that may be.
  ShardLoop(Shard& shard, Log& log, MeshPort& port, Asker& asker, std::uint64_t memory_max = 0);

  // Takes a request on its way to the shard that decides it.
  void submit(Request& request, ShardId target);
  // Wants a request back that may be a parked long poll. True: it is the caller's at once. False: it will
  // be answered() in any case, soon.
  bool cancel(Request& request, ShardId target);
  void send_connection(ShardId to, std::uint64_t number);

  // How the filters of replay tasks are read; without it none can be.
  void filter_replays_with(MakeMessageFilter make) { replayer_.filter_with(make); }

  // At a start, before the first turn: takes out what has moved to other queues, see moved_from().
  void settle(const std::vector<Moved>& moved);

  // One turn. Returns whether it had anything to do.
  bool turn(Instant now, std::uint64_t now_us);
  // The shards to wake for what this turn has sent; ask after turn().
  std::uint64_t take_wakes() { return std::exchange(wakes_, 0); }

  // When turn() is due next if nothing comes; Instant{0}: at once.
  Instant next_deadline();
  bool write_in_flight() const { return log_->write_in_flight(); }

  // Stop: long polls are answered empty; then drained() says when all is answered and durable. Other shards are needed
  // while asks_others().
  void begin_drain();
  bool asks_others() const { return shard_->transfers() > 0 || replayer_.under_way(); }
  bool drained() const;

  const std::optional<LogFailure>& failure() const { return log_->failure(); }
  Shard& shard() { return *shard_; }
  Log& log() { return *log_; }
  const LoopStats& stats() const { return stats_; }

 private:
  struct ConfigChange {
    ConfigPtr config;
    bool gone = false;
    Request* request = nullptr;
    std::uint32_t unknown_to = 0;  // shards that have not said yet
  };
  struct Waiting {
    Request* request = nullptr;
    Lsn lsn = 0;
  };
  struct Held {  // a request, or a change of a queue
    Request* request = nullptr;
    ConfigChange* change = nullptr;
    ShardId from{};  // the change's
  };

  void forget_wait(Request& request);
  void take_messages();
  void take(ShardId from, const MeshMessage& message);
  void apply(Request& request, Instant now);
  void look_into_log(Request& request, Instant now);
  bool accept(Request& request, std::uint64_t bytes, Log::From from);
  bool send(Request& request, Instant now);
  bool retry_held(Instant now);
  void hold(const Held& held);
  bool overtakes(const Request& request) const;
  void take_change(ShardId from, ConfigChange& change);
  void change_queue(ShardId from, ConfigChange& change);
  void decide(Request& request, Instant now);
  void share_memory();
  void keep_for_replay(Instant now);
  void replay(Instant now);
  void append(Instant now);
  bool leaves_early(const Request& request, Instant now);
  void write_checkpoint(Instant now);
  void relocate(Instant now, bool idle);
  void progress(Instant now);  // what became durable
  void answer(Request& request);
  void give(Request& request);
  void route(Request& request, ShardId target);
  void pass_on(Transfer& transfer);
  void announce(Request& request);
  void known(ConfigChange& change);
  void back_home(Request& request);

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
  Asker* asker_;
  std::uint64_t memory_max_;
  Effects effects_;
  Replayer replayer_;
  RingQueue<Request*> queued_;  // to apply in the next turn
  RingQueue<Held> held_;  // sends for which the log is making room, and what must not overtake them
  std::unordered_map<const void*, std::size_t> held_streams_;  // of these requests
  RingQueue<Waiting> waiting_;                                 // answered when the log is durable
  std::vector<std::unique_ptr<ConfigChange>> changes_;
  Instant now_;
  std::uint64_t wakes_ = 0;
  std::size_t from_mesh_ = 0;
  std::uint64_t unread_ = 0;  // bodies on their way from the disk
  bool full_ = false;         // the state fills the memory
  bool crammed_ = false;      // for messages of other queues, too
  bool draining_ = false;
  bool more_ = false;  // there is more to do at once
  CheckpointSlice slice_;
  bool checkpointing_ = false;
  LoopStats stats_;
};

// At a start, when every shard has been recovered and none has had a turn: by source, the messages that are in
// another queue already. They must be taken out of where they came from before anybody is served.
std::vector<std::vector<Moved>> moved_from(std::span<const Shard* const> shards);

}  // namespace pawl

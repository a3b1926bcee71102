// SPDX-License-Identifier: Apache-2.0
// The thread of a shard: its ring, disk, log and connections, and its sleep.
//
//   open (recover) --> adopt the directory --> run: [reap, turn, flush, submit | sleep]* --> drain --> closed
//
// Draining: it accepts no more. HTTP responses say `Connection: close`, and a connection ends when
// nothing keeps it open (Connection::stays). The stage `stopping` then flushes and closes the log.
//
// Idling: after work it polls for the spin window. Then it marks itself as sleeping, checks the
// mesh once more and blocks. Two yields of more than 0.5 ms within 20 ms show that the core is
// shared: for a second it then neither spins nor yields, but blocks. A runnable neighbour delays a
// yielding thread by whole 4 ms ticks, and a sleeping one only by its wake-up.
//
// Owner:  the server. Comments name the members that other threads may use.
#pragma once

#include <atomic>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "core/shard/shard.h"
#include "net/admin/metrics.h"
#include "net/connection/connection_limits.h"
#include "net/connection/connections.h"
#include "net/engine/clock.h"
#include "net/engine/mesh.h"
#include "net/engine/shard_engine.h"
#include "net/engine/shard_recovery.h"
#include "net/io/kernel_clocks.h"
#include "net/io/ring.h"
#include "net/io/ring_choice.h"
#include "net/io/uring_disk.h"
#include "net/server/acceptor.h"
#include "net/server/idle_policy.h"
#include "net/server/start_error.h"
#include "net/server/watchdog.h"
#include "proto/scheduler/reader.h"
#include "wal/log.h"
#include "wal/recovery/recovery.h"

namespace pawl {

struct WorkerOptions {
  ShardId id{};
  std::uint32_t shards = 1;
  std::string directory;
  int lock = -1;  // DataDir::lock()
  LogOptions log;
  std::uint32_t descriptors_max = UINT32_MAX;  // for the files of the log
  DataIdentity identity;                       // the data directory's
  std::size_t account_queues_max = Directory::queues_max;
  std::size_t metrics_queues = LabelledQueues::most_default;
  bool measures_disk = true;  // false: linked flushes, which suit every device
  bool strict_sqs = false;
  IoWish io = IoWish::automatic;
  Poll poll = Poll::automatic;
  std::uint64_t spin_us = 100;
  int cpu = -1;  // the thread's CPU; -1: any
};

// State shared by the workers of a server.
struct WorkerShared {
  WorkerShared(std::uint32_t shards, std::uint32_t connections_max, std::uint32_t address_max)
      : mesh(shards),
        wake_handles(shards),
        open_counts(shards),
        recoveries(shards),
        connection_limits(connections_max, address_max),
        admin_connection_limits(admin_connections_max, admin_connections_max) {}

  // The admin port has a separate limit, so that probes are answered when the other is reached.
  static constexpr std::uint32_t admin_connections_max = 32;

  Mesh mesh;
  EngineClock clock{kernel_clocks()};
  FireProgress fire_progress;
  RingChoice ring;  // of shard 0 for all; others read it after shard 0 has opened
  // Ring::wake_handle() of each shard. Relaxed: the latch between open() and run() orders them.
  std::vector<std::atomic<int>> wake_handles;
  // Connections of each shard. Relaxed: counts that order nothing; the acceptor may read old ones.
  std::vector<std::atomic<std::uint32_t>> open_counts;
  std::vector<RecoveryProgress> recoveries;
  ConnectionLimits connection_limits;
  ConnectionLimits admin_connection_limits;
  // Relaxed: it orders nothing else. A worker that misses it at a nudge sees it within a second.
  std::atomic<Stage> stage{Stage::serving};
  // Clients may be accepted: the sockets listen, and what the configuration file declares is made.
  // The acquire in the acceptor pairs with the release in Server::launch().
  std::atomic<bool> admits{false};
  // Shards whose connections know of a later stage. The acquire in Worker::loop_follows() pairs
  // with the release in enter().
  std::atomic<std::uint32_t> connections_told{0};
  // Shard 0 may still send accepted connections to others. They are in the mesh before the release
  // that clears it, and found there after the acquire, both in Worker::all_arrived().
  std::atomic<bool> accepting{true};
  // Workers that have sent all responses. The acquire in Worker::drain_step() pairs with the
  // release there: after it no request between shards is unanswered.
  std::atomic<std::uint32_t> quiet{0};
};

class Worker {
 public:
  Worker(const WorkerOptions& options, WorkerShared& shared);
  ~Worker();

  // --- on its own thread, in this order ---
  std::expected<void, StartError> open(const Calibration* calibration);
  std::expected<void, StartError> adopt();  // after share_directory()
  // Accepts from the sockets once WorkerShared::admits is set. `own`: a connection of the server to
  // itself; -1: none.
  void run(const ConnectionContext& context, const std::vector<ListeningSocket>& listeners,
           int own = -1);

  // --- by the server, between those calls ---
  ShardEngine& engine() { return *engine_; }
  bool opened() const { return engine_ && engine_->opened(); }
  // After a failed open(): the log's fault as a part of its directory.
  const RecoveryReport& report() const { return report_; }
  const Calibration& calibration() const { return calibration_; }

  // Ends a sleep. Any thread may call it.
  void nudge() const;
  // While draining: no client is left. Any thread may call it.
  bool idle() const { return idle_.load(std::memory_order_relaxed); }

  const ShardNumbers& numbers() const { return numbers_; }
  const PublishedRequestCounts& requests() const { return requests_; }
  // Beats after a nudge(), unless the thread hangs.
  const Pulse& pulse() const { return pulse_; }

 private:
  std::expected<void, std::string> open_ring();
  std::expected<void, StartError> open_disk(const Calibration* calibration);
  void make_engine();
  std::expected<void, StartError> recover_log();
  void arm_event();
  void dispatch(RingTag tag, std::int32_t result, std::uint32_t flags);
  bool turn();
  void idle(bool worked);
  void sleep(Instant due);
  void yield();
  void step_aside();
  void wake_others();
  void second_passed();
  void note_refusals();
  void look_for_space();
  void note_unreadable();
  void note_files_set_aside();
  void enter(Stage stage);
  bool loop_follows();
  bool all_arrived();
  bool drain_step();
  void close_log();
  StartError log_error(const std::string& complaint, const Error& error) const;
  [[noreturn]] void die(const LogFailure& failure) const;

  WorkerOptions options_;
  WorkerShared* shared_;
  std::unique_ptr<Ring> ring_;
  std::unique_ptr<UringDisk> disk_;
  std::unique_ptr<MeshPort> port_;
  std::unique_ptr<DefinitionReader> schedule_reader_;
  std::unique_ptr<Connections> connections_;
  std::unique_ptr<Acceptor> acceptor_;  // null: another shard accepts
  std::unique_ptr<ShardEngine> engine_;
  ShardLoop* loop_ = nullptr;  // the engine's, from run() on
  TurnPhases phases_{kernel_clocks()};
  RecoveryReport report_;
  Calibration calibration_;
  int event_fd_ = -1;
  int event_errno_ = 0;  // of a failed eventfd()
  Instant now_;
  std::uint64_t now_us_ = 0;
  IdlePolicy idle_policy_;
  std::uint64_t second_us_ = 0;
  std::uint64_t files_set_aside_ = 0;    // as last logged
  bool out_of_space_ = false;            // a send was refused for lack of disk; no space since
  std::uint64_t refused_for_space_ = 0;  // that of LoopStats when last read
  std::uint64_t refused_us_ = 0;         // time of the latest refusal for lack of disk
  std::uint64_t unreadable_ = 0;         // that of LoopStats when last logged
  Stage stage_ = Stage::serving, loop_stage_ = Stage::serving;
  std::uint64_t drain_begun_us_ = 0;
  bool acceptor_ended_ = false;
  bool counted_as_quiet_ = false;
  std::atomic<bool> idle_{false};  // relaxed: the server only waits for it and reads nothing else
  ShardNumbers numbers_;
  PublishedRequestCounts requests_;
  Pulse pulse_;
};

}  // namespace pawl

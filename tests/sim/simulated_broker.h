// SPDX-License-Identifier: Apache-2.0
// SimulatedBroker: one simulated broker. It runs the real Shard, Log, Mesh and ShardLoop of every
// shard on one clock and in one thread; each shard has its own SimDisk.
//
//   down --start()--> up --turn(shard), advance()...--> up --crash(), stopped()--> down
//
// A shard sleeps when its turn found nothing to do, as in net/server/worker.cc, but without that
// file's limit on a sleep. Here it wakes only for a reason: a wake-up of the mesh, a finished disk
// operation, a request, a deadline. So a lost reason leaves something stuck.
//
// Units:  now_us() counts from 1 s; now() is the broker's clock, which may jump when it starts. The
//         wall clock may jump at any time.
// Errors: a violation is a broken invariant of the Trace.
// Owner:  one simulation.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "net/engine/clock.h"
#include "net/engine/mesh.h"
#include "net/engine/shard_engine.h"
#include "net/engine/shard_recovery.h"
#include "tests/sim/plan.h"
#include "tests/sim/random.h"
#include "tests/sim/sim_disk.h"
#include "tests/sim/trace.h"
#include "wal/data_identity.h"

namespace pawl::sim {

// A turn that has ended. `fired`: all timers up to this time had fired before the turn; `fires`:
// after it.
struct Turn {
  ShardId shard{};
  std::uint64_t step = 0;  // number of the turn; turns of all shards count from 1
  Instant now;
  Instant fired;
  Instant fires;
};

// Receiver of the broker's responses and turns: the clients.
class BrokerObserver {
 public:
  virtual ~BrokerObserver() = default;
  virtual void on_response(ShardId home, Request& request) = 0;  // called within a turn
  virtual void on_turn(const Turn& turn) = 0;                    // called after a turn
};

// The filter of replay tasks that selects messages of odd numbers only.
inline constexpr std::string_view odd_filter = "odd";

enum class Start : std::uint8_t { up, refused, no_disk };

class SimulatedBroker {
 public:
  SimulatedBroker(const Plan& plan, Trace& trace, BrokerObserver& observer);
  ~SimulatedBroker();

  // From the next start on, schedules run.
  void run_schedules(const ScheduleReader& reader) { schedules_ = &reader; }

  // --- the broker ---
  // Opens the logs and recovers. If the result is not `up`, nothing is open and complaint() has the
  // reason.
  Start start(std::int64_t jump_ms);
  const std::string& complaint() const { return complaint_; }
  bool up() const { return up_; }
  // Ends the process, or the machine with it.
  void crash(Crash kind);
  // Closes the log of every shard in order. False: not finished; run the shards and call it again.
  bool close_logs();
  // To be called after close_logs(): the process has ended.
  void stopped();
  // Hash of the records that recovery read; equal before and after a startup that changes nothing.
  std::uint64_t fingerprint() const { return fingerprint_; }

  // --- rot ---
  struct Flip {
    std::uint32_t shard = 0;
    std::string file;
    std::uint64_t offset = 0;
    unsigned bit = 0;
    std::vector<std::byte> around = {};  // the bytes around it after the flip
  };
  void flip(const Flip& flip);
  bool has_flip() const { return flip_.has_value(); }
  // Undoes the flip. False: there is none, or its place has been written since.
  bool flip_back();
  // Returns the stored message of a delivery whose body may not have been read yet. It is valid
  // until the next call.
  StoredMessage stored(ShardId shard, QueueId queue, const Delivery& delivery);

  // A message without a group in a queue with x-max-delay is pending.
  bool is_far(Instant sent, Instant deliver_at) const {
    return Calendar::begin_of(deliver_at, plan_.calendar_bits) > sent + plan_.calendar_horizon;
  }
  // Bytes of bodies that were read from the disks, up to the last crash or stop.
  std::uint64_t bodies_read() const { return bodies_read_; }
  std::uint64_t relocated() const { return relocated_; }

  // --- time and turns ---
  std::uint64_t now_us() const { return now_us_; }
  // The clock as a shard sees it: it does not follow the broker's clock back until the next
  // startup.
  Instant now() const { return seen_ = std::max(seen_, clock_->now()); }
  Instant newest_now() const { return newest_now_; }  // its maximum so far
  std::uint64_t step() const { return step_; }
  Instant fired(ShardId shard) const { return machines_[raw(shard)]->fired; }
  bool inside_turn() const { return inside_turn_; }

  bool runnable(std::uint32_t shard) const;
  // Whether a runnable shard found nothing to do in its last turns: it only polls for another shard
  // or the disk.
  bool spinning(std::uint32_t shard) const { return machines_[shard]->idle_turns >= spins_max; }
  // Runs one turn. False: the log failed and the process must die, or a message was set aside.
  bool turn(std::uint32_t shard);
  // Advances the time; disks finish the operations that are due.
  void advance(std::uint64_t us);
  // Time of the next event by itself; UINT64_MAX: never. Timers of shards count only `with_timers`.
  std::uint64_t next_event(bool with_timers) const;
  void stall(std::uint32_t shard, std::uint64_t us) {
    machines_[shard]->stalled_until = now_us_ + us;
  }
  void unstall();
  void step_wall_clock(std::int64_t ms) { wall_ms_ahead_ += ms; }
  std::int64_t wall_ms() const { return clocks_.wall_us() / 1000; }
  std::uint64_t starts() const { return starts_; }  // successful ones
  // Sets the wall clock to the broker's clock.
  void set_wall_clock_right() { wall_ms_ahead_ += now().ms - clocks_.wall_us() / 1000; }
  // Wakes a shard without a reason, as a stopping worker does every millisecond.
  void wake(std::uint32_t shard) { kick(shard); }

  // --- requests ---
  void submit(Request& request, ShardId home, ShardId target);
  bool cancel(Request& request, ShardId home, ShardId target);

  std::uint32_t shards() const { return plan_.shards; }
  bool little_memory() const { return plan_.memory != 0; }
  // Whether messages and the log image took three quarters of the shard's memory in its latest
  // turn, with so many bytes more.
  bool short_of_memory(ShardId shard, std::uint64_t bytes) const;
  bool strict() const { return plan_.strict; }
  bool numbers_run_out() const { return plan_.first_number > 1; }
  SimDisk& disk(std::uint32_t shard) { return *machines_[shard]->disk; }
  ShardLoop& loop(std::uint32_t shard) { return machines_[shard]->engine->loop(); }
  const Secret& secret() const { return identity_.secret; }
  const SipKey& receipt_key() const { return identity_.receipt_key; }

  // --- the data directory ---
  bool is_made(std::uint32_t shard) const { return identity_.is_made(shard); }
  // To be called while the broker is down. put_back() restores the directories.
  enum class Misplaced : std::uint8_t { lost, swapped, of_another_time, none_left };
  void misplace(std::uint32_t shard, Misplaced how);
  void put_back();
  // Keeps a copy of the shard's directory as it is now.
  void keep_copy(std::uint32_t shard);
  bool has_older_copy(std::uint32_t shard) const;
  // Flips one bit of one of the two copies in PAWL; the other copy is enough.
  void flip_identity();

 private:
  struct ForwardingOwner final : RequestOwner {
    SimulatedBroker* world = nullptr;
    ShardId home{};
    void on_response(Request& request) override { world->observer_->on_response(home, request); }
    void connection(std::uint64_t) override {}
  };
  struct Machine {
    std::unique_ptr<SimDisk> disk;
    std::unique_ptr<MeshPort> port;
    std::unique_ptr<ShardEngine> engine;  // none: the broker is down
    ForwardingOwner request_owner;
    bool asleep = false;
    bool drowsy = false;           // idle: it sleeps at its next turn unless input has come
    std::uint32_t idle_turns = 0;  // in a row, since a sleep or a new wish for a turn at once
    bool kicked = false;
    bool closed = false;
    std::unique_ptr<SimDisk> older;  // a copy of the directory, from after startup `older_start`
    std::uint64_t older_start = 0;
    std::uint64_t wake_at = UINT64_MAX;
    std::uint64_t stalled_until = 0;
    std::uint64_t held_before = 0;  // bytes, at the beginning of its latest turn
    Instant due = never;
    Instant now;
    Instant fired;
  };

  static constexpr std::uint32_t spins_max = 4;

  struct Clocks final : MachineClocks {
    explicit Clocks(const SimulatedBroker& of) : world(&of) {}
    std::int64_t running_us() const override {
      return static_cast<std::int64_t>(world->now_us_ - world->boot_us_);
    }
    std::int64_t wall_us() const override {
      return static_cast<std::int64_t>(world->now_us_) + world->wall_ms_ahead_ * 1000;
    }
    BootId boot_id() const override {
      return {static_cast<std::uint8_t>(world->boots_),
              static_cast<std::uint8_t>(world->boots_ >> 8)};
    }
    bool synchronised() const override { return world->synchronised_; }
    const SimulatedBroker* world;
  };

  Start open(std::uint32_t shard);
  bool load_identity();
  Result<void> store_identity(DataIdentity next);
  Result<void> note_start();
  void check_clock() const;
  Start refused(const Error& error);
  bool flipped() const;
  std::vector<std::byte> around(const Flip& flip) const;
  void tear_down();
  static std::uint64_t bytes_held(const Machine& machine);
  // Ends a shard's sleep for input of its own: a request or a finished disk operation.
  void kick(std::uint32_t shard) { machines_[shard]->kicked = true; }
  bool falls_asleep(Machine& machine);
  std::uint64_t at_us(Instant instant) const;

  Plan plan_;
  Trace* trace_;
  const ScheduleReader* schedules_ = nullptr;
  std::unique_ptr<FireProgress> fire_progress_;
  std::uint64_t starts_ = 0;
  BrokerObserver* observer_;
  Random random_;
  std::unique_ptr<SimDisk> root_;  // holds PAWL
  DataIdentity identity_;
  std::vector<std::unique_ptr<SimDisk>> away_;  // the directories while misplace() is in effect
  bool identity_flipped_ = false;
  std::unique_ptr<Mesh> mesh_;
  std::vector<std::unique_ptr<Machine>> machines_;
  std::uint64_t now_us_ = 1'000'000;
  std::int64_t wall_ms_ahead_ = 1'700'000'000'000;
  std::uint64_t boot_us_ = 0;
  std::uint32_t boots_ = 1;
  bool synchronised_ = true;
  Clocks clocks_{*this};
  std::unique_ptr<EngineClock> clock_ = std::make_unique<EngineClock>(clocks_);
  mutable Instant seen_;
  std::uint64_t followed_us_ = 0;
  Instant newest_now_;
  Instant last_now_;  // broker's clock at its last end
  std::uint64_t last_now_us_ = 0;
  std::uint32_t last_boots_ = 0;  // 0: it has not run yet
  bool last_waited_ = false;      // at its last end, the time before the reboot was not counted yet
  std::uint64_t step_ = 0;
  std::uint64_t fingerprint_ = 0;
  std::uint64_t bodies_read_ = 0;
  std::uint64_t relocated_ = 0;
  std::optional<Flip> flip_;
  std::vector<std::byte> extent_;  // memory of the result of stored()
  bool up_ = false;
  bool inside_turn_ = false;
  std::string complaint_;
};

}  // namespace pawl::sim

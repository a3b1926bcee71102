// World: one broker, simulated. The real Shard, Log, Mesh and ShardLoop of every shard, each on a SimDisk of
// its own, one clock, one thread.
//
//   down --start()--> up --turn(shard), advance()...--> up --crash(), stopped()--> down
//
// A shard sleeps when its turn found nothing to do, as net/server/worker.cc does it, but without that file's longest
// sleep: here it wakes only for a reason (a wake-up of the mesh, a finished disk operation, a request, a
// deadline), so a reason that gets lost leaves something stuck.
//
// Units:  now_us() counts from 1 s; now() is the broker's clock, which may jump when it starts. The wall clock may jump
//         at any time.
// Errors: what must not happen is a broken invariant of the Trace.
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
#include "net/engine/shard_replay.h"
#include "tests/sim/plan.h"
#include "tests/sim/random.h"
#include "tests/sim/sim_disk.h"
#include "tests/sim/trace.h"
#include "wal/data_identity.h"

namespace pawl::sim {

// A turn that was run. `fired`: all timers up to this time had fired before the turn; `fires`: after it.
struct Turn {
  ShardId shard{};
  std::uint64_t step = 0;  // turns of all shards are numbered from 1
  Instant now;
  Instant fired;
  Instant fires;
};

// Who is told what the broker does: the clients.
class Audience {
 public:
  virtual ~Audience() = default;
  virtual void answered(ShardId home, Request& request) = 0;  // within a turn
  virtual void turned(const Turn& turn) = 0;                  // after it
};

// The filter of replay tasks that wants messages of odd numbers alone.
inline constexpr std::string_view odd_filter = "odd";

enum class Start : std::uint8_t { up, refused, no_disk };

class World {
 public:
  World(const Plan& plan, Trace& trace, Audience& audience);
  ~World();

  // --- the broker ---
  // Opens the logs and recovers. Not up: nothing is open, `complaint()` says why.
  Start start(std::int64_t jump_ms);
  const std::string& complaint() const { return complaint_; }
  bool up() const { return up_; }
  // The process dies, or the machine with it.
  void crash(Crash kind);
  // The log of every shard is closed in order; false: not yet, run it on.
  bool close_logs();
  // After close_logs(): the process has ended.
  void stopped();
  // What every log said when it was read back; equal before and after a start that changes nothing.
  std::uint64_t fingerprint() const { return fingerprint_; }

  // --- rot ---
  struct Flip {
    std::uint32_t shard = 0;
    std::string file;
    std::uint64_t offset = 0;
    unsigned bit = 0;
    std::vector<std::byte> around = {};  // it, when it had flipped
  };
  void flip(const Flip& flip);
  bool has_flip() const { return flip_.has_value(); }
  // False: there is none, or its place has been written since.
  bool flip_back();
  // What was sent, of a delivery whose body may not have been read yet. It holds until the next call.
  StoredMessage stored(ShardId shard, const Delivery& delivery);

  // Bytes of bodies that came back from the disks, up to the last crash or stop.
  std::uint64_t bodies_read() const { return bodies_read_; }
  std::uint64_t relocated() const { return relocated_; }

  // --- time and turns ---
  std::uint64_t now_us() const { return now_us_; }
  // As a shard sees it: what the clock is slewed back by does not count until the next start.
  Instant now() const { return seen_ = std::max(seen_, clock_->now()); }
  Instant newest_now() const { return newest_now_; }  // the latest it ever was
  std::uint64_t step() const { return step_; }
  Instant fired(ShardId shard) const { return machines_[raw(shard)]->fired; }
  bool inside_turn() const { return inside_turn_; }

  bool runnable(std::uint32_t shard) const;
  // Runnable, but its last turns found nothing to do: it only polls for what another shard or the disk does.
  bool spinning(std::uint32_t shard) const { return machines_[shard]->idle_turns >= spins_max; }
  // The shard asked for another turn at once, and has not asked in vain hasty_turns_max times in a
  // row: it may still be refused something that only time brings.
  bool hurries(std::uint32_t shard) const {
    const Machine& machine = *machines_[shard];
    return machine.hasty_turns > 0 && machine.hasty_turns < hasty_turns_max;
  }
  // Runs one turn; false: the log failed and the process must die, or a message was set aside.
  bool turn(std::uint32_t shard);
  // Time goes on, disks finish what is due.
  void advance(std::uint64_t us);
  // When something happens next by itself; UINT64_MAX: never. Timers of shards count only `with_timers`.
  std::uint64_t next_event(bool with_timers) const;
  void stall(std::uint32_t shard, std::uint64_t us) {
    machines_[shard]->stalled_until = now_us_ + us;
  }
  void unstall();
  void step_wall_clock(std::int64_t ms) { wall_ms_ahead_ += ms; }
  // It says what the broker's clock says.
  void set_wall_clock_right() { wall_ms_ahead_ += now().ms - clocks_.wall_us() / 1000; }
  // A worker that stops looks every millisecond, whether anything happened or not.
  void wake(std::uint32_t shard) { kick(shard); }

  // --- requests ---
  void submit(Request& request, ShardId home, ShardId target);
  bool cancel(Request& request, ShardId home, ShardId target);

  std::uint32_t shards() const { return plan_.shards; }
  bool little_memory() const { return plan_.memory != 0; }
  // Whether messages and the log's image took most of the shard's memory in its latest turn, with so many bytes more.
  bool short_of_memory(ShardId shard, std::uint64_t bytes) const;
  bool strict() const { return plan_.strict; }
  bool numbers_run_out() const { return plan_.first_number > 1; }
  SimDisk& disk(std::uint32_t shard) { return *machines_[shard]->disk; }
  ShardLoop& loop(std::uint32_t shard) { return machines_[shard]->engine->loop(); }
  const Secret& secret() const { return identity_.secret; }
  const SipKey& receipt_key() const { return identity_.receipt_key; }

  // --- the data directory ---
  bool is_made(std::uint32_t shard) const { return identity_.is_made(shard); }
  // While the broker is down. What was there comes back with put_back().
  enum class Misplaced : std::uint8_t { lost, swapped, of_another_time, none_left };
  void misplace(std::uint32_t shard, Misplaced how);
  void put_back();
  // A copy of the shard's directory as it is now, for later.
  void keep_copy(std::uint32_t shard);
  bool has_older_copy(std::uint32_t shard) const;
  // One bit of a copy in PAWL flips; the other one does.
  void flip_identity();

 private:
  struct Desk final : Asker {
    World* world = nullptr;
    ShardId home{};
    void answered(Request& request) override { world->audience_->answered(home, request); }
    void connection(std::uint64_t) override {}
  };
  struct Machine {
    std::unique_ptr<SimDisk> disk;
    std::unique_ptr<MeshPort> port;
    std::unique_ptr<ShardEngine> engine;  // none: the broker is down
    Desk desk;
    bool asleep = false;
    bool drowsy = false;  // nothing to do: sleeps when it is its turn again and nothing has come
    std::uint32_t idle_turns = 0;  // in a row, without sleep
    std::uint32_t hasty_turns = 0;  // idle turns in a row after which another was due at once
    bool kicked = false;
    bool closed = false;
    std::unique_ptr<SimDisk> older;  // a copy of the directory, made after start `older_start`
    std::uint64_t older_start = 0;
    std::uint64_t wake_at = UINT64_MAX;
    std::uint64_t stalled_until = 0;
    std::uint64_t held_before = 0;  // bytes, when its latest turn began
    Instant due = never;
    Instant now;
    Instant fired;
  };

  static constexpr std::uint32_t spins_max = 4;
  static constexpr std::uint32_t hasty_turns_max = 64;

  struct Clocks final : MachineClocks {
    explicit Clocks(const World& of) : world(&of) {}
    std::int64_t running_us() const override {
      return static_cast<std::int64_t>(world->now_us_ - world->boot_us_);
    }
    std::int64_t wall_us() const override {
      return static_cast<std::int64_t>(world->now_us_) + world->wall_ms_ahead_ * 1000;
    }
    std::array<std::uint8_t, 16> boot_id() const override {
      return {static_cast<std::uint8_t>(world->boots_),
              static_cast<std::uint8_t>(world->boots_ >> 8)};
    }
    bool synchronised() const override { return world->synchronised_; }
    const World* world;
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
  // Input of its own, a request or a finished disk operation, ends a shard's sleep.
  void kick(std::uint32_t shard) { machines_[shard]->kicked = true; }
  bool falls_asleep(Machine& machine);
  std::uint64_t at_us(Instant instant) const;

  Plan plan_;
  Trace* trace_;
  Audience* audience_;
  Random random_;
  std::unique_ptr<SimDisk> root_;  // PAWL
  DataIdentity identity_;
  std::vector<std::unique_ptr<SimDisk>> away_;  // of misplaced shards
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
  Instant last_now_;  // of the broker, when it ended last
  std::uint64_t last_now_us_ = 0;
  std::uint32_t last_boots_ = 0;  // 0: it has not run yet
  bool last_waited_ = false;      // the time before the restart was not counted then
  std::uint64_t step_ = 0;
  std::uint64_t fingerprint_ = 0;
  std::uint64_t bodies_read_ = 0;
  std::uint64_t relocated_ = 0;
  std::optional<Flip> flip_;
  std::vector<std::byte> extent_;  // of what stored() tells
  bool up_ = false;
  bool inside_turn_ = false;
  std::string complaint_;
};

}  // namespace pawl::sim

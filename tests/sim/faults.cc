// SPDX-License-Identifier: Apache-2.0
// Faults, crashes and startups of a simulated run.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "tests/sim/simulation.h"

namespace pawl::sim {

void Simulation::maybe_fail() {
  const auto strikes = [&](Fault fault) {
    return random_.chance(plan_.chances[static_cast<std::size_t>(fault)], 10'000);
  };
  const auto shard = [&] { return static_cast<std::uint32_t>(random_.below(plan_.shards)); };
  if (strikes(Fault::crash)) random_.chance(1, 3) ? lose_power() : crash();
  if (strikes(Fault::stop)) stop_and_start();
  if (in_trouble()) return;
  if (strikes(Fault::stall)) world_.stall(shard(), random_.between(1000, 3'000'000));
  if (strikes(Fault::disk_error)) fail_a_disk();
  if (strikes(Fault::disk_full)) fill_a_disk();
  if (strikes(Fault::clock_step)) {
    const std::int64_t ms = clock_jump();
    trace_.note("{} us: the wall clock is set, {} ms", world_.now_us(), ms);
    world_.step_wall_clock(ms);
  }
  if (strikes(Fault::burst)) outcome_.operations += clients_.burst();
  if (strikes(Fault::long_pause)) {
    const std::uint64_t pauses[] = {50'000, 1'100'000, 6'000'000, 31'000'000, 290'000'000};
    const std::size_t choices = std::size(pauses) - (plan_.fifo_names > 0 ? 0 : 1);
    run_until(world_.now_us() + pauses[random_.below(choices)]);
  }
  if (!in_trouble() && strikes(Fault::quiet)) look_at_rest();
}

std::int64_t Simulation::clock_jump() {
  const std::int64_t jumps_ms[] = {-3'600'000, -5000, -1, 1, 5000, 40'000, 250'000};
  return jumps_ms[random_.below(std::size(jumps_ms))];
}

void Simulation::fail_a_disk() {
  constexpr IoKind kinds[] = {IoKind::write,  IoKind::write,  IoKind::sync, IoKind::sync_dir,
                              IoKind::create, IoKind::rename, IoKind::read};
  const IoKind kind = kinds[random_.below(std::size(kinds))];
  read_fails_ |= kind == IoKind::read;
  const auto shard = static_cast<std::uint32_t>(random_.below(plan_.shards));
  trace_.note("{} us: disk {} will fail, kind {}", world_.now_us(), shard, static_cast<int>(kind));
  world_.disk(shard).fail(kind, EIO, random_.below(10));
}

void Simulation::fill_a_disk() {
  const auto shard = static_cast<std::uint32_t>(random_.below(plan_.shards));
  SimDisk& disk = world_.disk(shard);
  trace_.note("{} us: disk {} is full", world_.now_us(), shard);
  model_.disk_is_full(shard);
  disk.set_capacity(disk.bytes_used() + random_.below(2) * plan_.log.segment_bytes);
}

void Simulation::heal() {
  for (std::uint32_t i = 0; i < plan_.shards; ++i) world_.disk(i).heal();
  model_.disks_healed();
}

// --- crashes and stops ---

void Simulation::crash() {
  ++outcome_.crashes;
  model_.crashed();
  clients_.crashed();
  world_.crash(random_.chance(plan_.power_cuts, 100) ? Crash::power : Crash::process);
  start();
}

// Cuts the power of the disks between two operations of a turn; the broker may notice it before it
// dies too.
void Simulation::lose_power() {
  trace_.note("{} us: the disks lose power soon", world_.now_us());
  for (std::uint32_t i = 0; i < plan_.shards; ++i)
    world_.disk(i).cut_power_after(random_.below(30));
  const std::uint64_t crashes = outcome_.crashes;
  run_until(world_.now_us() + random_.below(10'000));
  if (!in_trouble() && outcome_.crashes == crashes) crash();
}

void Simulation::stop_and_start() {
  if (stop()) start();
}

// Stops in order: every request gets its response, everything is durable, then the logs are closed.
bool Simulation::stop() {
  trace_.note("{} us: stopping", world_.now_us());
  heal();
  world_.unstall();
  const std::uint64_t crashes = outcome_.crashes;
  model_.draining();
  for (std::uint32_t i = 0; i < plan_.shards; ++i) world_.loop(i).begin_drain();
  bool drained = false;
  for (std::uint64_t rounds = 0; !drained && rounds < 30'000 && !in_trouble(); ++rounds) {
    run_until(world_.now_us() + 1000);
    if (outcome_.crashes != crashes) return false;  // a disk error came first
    drained = clients_.under_way() == 0;
    for (std::uint32_t i = 0; i < plan_.shards; ++i) {
      world_.wake(i);  // a stopping broker looks every millisecond
      if (clients_.under_way() == 0) world_.loop(i).log().flush_all();
      drained &= world_.loop(i).drained();
    }
  }
  bool closed = false;
  for (std::uint64_t rounds = 0; drained && !closed && rounds < 10'000 && !in_trouble(); ++rounds) {
    closed = world_.close_logs();
    for (std::uint32_t i = 0; i < plan_.shards; ++i) world_.wake(i);
    if (!closed) run_until(world_.now_us() + 1000);
    if (outcome_.crashes != crashes) return false;
  }
  if (in_trouble()) return false;
  if (!closed) {
    trace_.broken("a stop in order ends", "drained {}", drained);
    return false;
  }
  ++outcome_.stops;
  model_.stopped();
  clients_.crashed();
  world_.stopped();
  if (random_.chance(plan_.power_cuts, 100)) {
    for (std::uint32_t i = 0; i < plan_.shards; ++i) world_.disk(i).crash(Crash::power);
  }
  if (random_.chance(plan_.rot, 100)) rot();
  return true;
}

// --- starts ---

// Starts the broker. Recovery may be interrupted, again and again; it finds the same state each
// time.
void Simulation::start() {
  std::int64_t jump_ms = 0;
  if (random_.chance(plan_.clock_jumps, 100)) {
    jump_ms = clock_jump();
  }
  for (std::uint32_t i = 0; i < plan_.shards; ++i) world_.disk(i).heal_errors();
  while (random_.chance(plan_.nested_crashes, 100) && !in_trouble()) {
    const auto shard = static_cast<std::uint32_t>(random_.below(plan_.shards));
    if (random_.chance(1, 2)) {
      world_.disk(shard).cut_power_after(random_.below(60));
    } else {
      world_.disk(shard).fail(random_.chance(1, 2) ? IoKind::read : IoKind::sync, EIO,
                              random_.below(20));
    }
    if (try_start(jump_ms)) {
      ++outcome_.crashes;
      model_.started();
      model_.stopped();  // nothing has happened
    }
    jump_ms = 0;
    if (in_trouble()) return;
    world_.crash(random_.chance(1, 2) ? Crash::power : Crash::process);
    for (std::uint32_t i = 0; i < plan_.shards; ++i) world_.disk(i).heal_errors();
  }
  if (!in_trouble() && random_.chance(plan_.misplaced, 100)) misplace();
  if (in_trouble() || !try_start(jump_ms)) return;
  while (random_.chance(plan_.double_starts, 100) && !in_trouble()) {
    const std::uint64_t before = world_.fingerprint();
    world_.crash(random_.chance(1, 2) ? Crash::power : Crash::process);
    if (!try_start(0)) return;
    if (world_.fingerprint() != before)
      return trace_.broken("a second start finds the same", "at {} us", world_.now_us());
  }
  model_.started();
}

// Returns false if a disk failed by arrangement, or if the log was refused (a broken invariant).
bool Simulation::try_start(std::int64_t jump_ms) {
  ++outcome_.starts;
  Start started = world_.start(jump_ms);
  if (started == Start::refused && world_.flip_back()) {
    started = world_.start(0);
  }
  if (started == Start::up) {
    read_fails_ = false;
    return true;
  }
  const bool arranged = started == Start::no_disk;
  if (!arranged) trace_.broken("a log can be read back", "{}", world_.complaint());
  return false;
}

// Moves the directories of logs, or puts an old copy back. No startup goes on without a log that
// was made.
void Simulation::misplace() {
  const auto shard = static_cast<std::uint32_t>(random_.below(plan_.shards));
  const bool copied = world_.has_older_copy(shard);
  if (!copied && random_.chance(1, 2)) world_.keep_copy(shard);
  if (random_.chance(1, 4)) world_.flip_identity();
  if (!world_.is_made(shard)) return;
  using enum SimulatedBroker::Misplaced;
  SimulatedBroker::Misplaced how =
      std::array{lost, swapped, of_another_time, none_left}[random_.below(4)];
  if (how == of_another_time && !copied) how = lost;
  if (how == swapped && plan_.shards == 1) how = lost;
  trace_.note("{} us: shard {} is misplaced, {}", world_.now_us(), shard, static_cast<int>(how));
  world_.misplace(shard, how);
  const Start started = world_.start(0);
  if (started != Start::refused)
    return trace_.broken("a log that was made is not made anew", "shard {}, {}", shard,
                         static_cast<int>(how));
  world_.put_back();
}

// Flips a bit in a file of a stopped broker. Recovery may refuse the log, or not need the bit; or
// the bit belongs to a message that is read later.
void Simulation::rot() {
  world_.flip_back();
  const auto shard = static_cast<std::uint32_t>(random_.below(plan_.shards));
  const auto listed = world_.disk(shard).list();
  if (!listed || listed->empty()) return;
  std::vector<FileInfo> files = *listed;
  std::ranges::sort(files, {}, &FileInfo::name);
  const FileInfo& file = files[random_.below(files.size())];
  if (file.bytes == 0) return;
  world_.flip(
      {shard, file.name, random_.below(file.bytes), static_cast<unsigned>(random_.below(8))});
  model_.bit_flipped();
}

// Runs until the shard's log has had 250 ms without a record. Returns its end, or nothing when
// timers of messages keep writing.
std::optional<Lsn> Simulation::come_to_rest(std::uint32_t shard) {
  for (int tries = 0; tries < 20; ++tries) {
    if (!settle()) return std::nullopt;
    const Lsn before = world_.loop(shard).log().appended();
    run_until(world_.now_us() + 250'000);
    if (!settle()) return std::nullopt;
    if (world_.loop(shard).log().appended() == before) return before;
  }
  return std::nullopt;
}

// Kills the process when nothing has been written for a while, and flips a bit of the last bytes of
// the log. Everything was acknowledged, so a startup must not take the damage for a torn write.
void Simulation::rot_at_rest() {
  const auto shard = static_cast<std::uint32_t>(random_.below(plan_.shards));
  clients_.go_on(false);
  const std::optional<Lsn> end = come_to_rest(shard);
  clients_.go_on(true);
  if (!end) return;
  world_.flip_back();
  ++outcome_.crashes;
  model_.crashed();
  clients_.crashed();
  world_.crash(random_.chance(plan_.power_cuts, 100) ? Crash::power : Crash::process);
  const Lsn at = *end - random_.between(1, 2 * block_bytes);
  const std::string file = segment_name(at / plan_.log.segment_bytes);
  if (world_.disk(shard).exists(file))
    world_.flip(
        {shard, file, at % plan_.log.segment_bytes, static_cast<unsigned>(random_.below(8))});
  model_.bit_flipped();
  start();
}

// Repairs the disk after a message was set aside because it cannot be read; the next startup finds
// the message.
void Simulation::repair() {
  if (!world_.flip_back() && !read_fails_)
    return trace_.broken("what is whole is read", "at {} us", world_.now_us());
  trace_.note("{} us: a message is set aside", world_.now_us());
  ++outcome_.set_aside;
  crash();
}

}  // namespace pawl::sim

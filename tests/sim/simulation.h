// SPDX-License-Identifier: Apache-2.0
// Simulation: one run of a seed, from an empty disk to a drained broker.
//
//   start -> act, turn, advance, fail, crash, stop, start ...
//         -> heal -> rest -> drain -> stop -> start: empty
//
// Owner: the caller; runs of different seeds share nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/clients.h"
#include "tests/sim/model.h"
#include "tests/sim/plan.h"
#include "tests/sim/random.h"
#include "tests/sim/simulated_broker.h"
#include "tests/sim/trace.h"

namespace pawl::sim {

struct Outcome {
  bool ok = false;
  std::string invariant;  // first broken invariant
  std::string what;
  std::uint64_t hash = 0;  // hash of all events
  std::uint64_t operations = 0, turns = 0, messages = 0, refused = 0;
  std::uint64_t crashes = 0, starts = 0, stops = 0, faults = 0;
  std::uint64_t set_aside = 0;    // messages that could not be read until the next startup
  std::uint64_t bodies_read = 0;  // bytes
  std::uint64_t relocated = 0;    // bytes
  FeaturePairs pairs;
  std::uint64_t copies = 0;          // copies that replay tasks sent and clients received
  std::uint64_t replays_proved = 0;  // copies that had to come, and came
  std::uint64_t fires = 0;           // messages of schedules that came
  std::uint64_t simulated_us = 0;
};

class Simulation {
 public:
  Simulation(const Plan& plan, bool print);
  Outcome run();

 private:
  // --- simulation.cc: the normal course of a run ---
  void act();
  void run_some_turns();
  bool turn(std::uint32_t shard);
  bool round();
  void run_until(std::uint64_t us);
  // Runs everything until only the passage of time could change anything. False: the broker does
  // not come to rest.
  bool settle();
  void look_at_rest();
  bool in_trouble() const { return !trace_.ok(); }

  // --- faults.cc ---
  void maybe_fail();
  std::int64_t clock_jump();
  void fail_a_disk();
  void fill_a_disk();
  void heal();
  void crash();
  void lose_power();
  void stop_and_start();
  void start();
  bool try_start(std::int64_t jump_ms);
  void misplace();
  void rot();
  void rot_at_rest();
  std::optional<Lsn> come_to_rest(std::uint32_t shard);
  void repair();

  // --- ending.cc ---
  void end();
  void drain();
  bool drain_round();
  bool on_the_way(std::uint32_t shard);
  void check_empty();
  bool stop();

  Plan plan_;
  Trace trace_;
  Clients clients_;
  SimulatedBroker world_;
  Model model_;
  Random random_;
  Outcome outcome_;
  bool read_fails_ = false;  // a disk read fails, or has failed since the startup
};

}  // namespace pawl::sim

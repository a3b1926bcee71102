// SPDX-License-Identifier: Apache-2.0
// The normal course of a run: clients act, shards take turns, time advances.
#include "tests/sim/simulation.h"

#include <algorithm>

namespace pawl::sim {
namespace {

constexpr std::uint64_t rounds_max = 200'000;
constexpr std::uint64_t spins_max = 5000;

}  // namespace

Simulation::Simulation(const Plan& plan, bool print)
    : plan_(plan),
      trace_(print),
      clients_(plan, trace_),
      world_(plan, trace_, clients_),
      model_(world_, trace_),
      random_(Random(plan.seed).split("scheduler")) {
  clients_.use(world_, model_);
}

Outcome Simulation::run() {
  trace_.note("{}", describe(plan_));
  start();
  std::uint64_t idle = 0;
  while (!in_trouble() && outcome_.operations < plan_.operations && idle < 100 * plan_.operations) {
    const std::uint64_t before = outcome_.operations;
    act();
    idle += outcome_.operations == before ? 1 : 0;
  }
  if (!in_trouble()) end();
  outcome_.ok = trace_.ok();
  outcome_.invariant = trace_.invariant();
  outcome_.what = trace_.what();
  outcome_.hash = trace_.hash();
  outcome_.turns = world_.step();
  outcome_.refused = clients_.refused();
  outcome_.simulated_us = world_.now_us();
  outcome_.bodies_read = world_.bodies_read();
  outcome_.relocated = world_.relocated();
  outcome_.copies = model_.copies();
  outcome_.pairs = model_.pairs();
  outcome_.replays_proved = model_.replays_proved();
  for (std::uint32_t i = 0; i < plan_.shards; ++i) outcome_.faults += world_.disk(i).stats().faults;
  return outcome_;
}

void Simulation::act() {
  maybe_fail();
  if (in_trouble()) return;
  const std::uint64_t begun = clients_.act();
  outcome_.operations += begun;
  if (begun == 0 || random_.chance(1, 2)) run_some_turns();
  if (begun == 0 && random_.chance(1, 4))  // every client waits
    return run_until(std::min(world_.next_event(true), world_.now_us() + 1'000'000));
  const std::uint64_t us = random_.below(plan_.step_us_max + 1);
  if (random_.chance(1, 4)) {
    world_.advance(us);
  } else {
    run_until(world_.now_us() + us);
  }
}

void Simulation::run_some_turns() {
  for (std::uint64_t n = random_.between(1, plan_.shards); n > 0; --n) {
    const auto shard = static_cast<std::uint32_t>(random_.below(plan_.shards));
    if (world_.runnable(shard) && !turn(shard)) return;
  }
}

// False: the broker had to die; it runs again.
bool Simulation::turn(std::uint32_t shard) {
  if (world_.turn(shard)) return true;
  if (in_trouble()) return false;
  world_.loop(shard).log().failure() ? crash() : repair();
  return false;
}

// Runs one turn of every runnable shard, also of shards that only spin. False: nothing worked, and
// nothing will before the next event. A broker that dies and starts again counts as work.
bool Simulation::round() {
  bool worked = false;
  const auto first = static_cast<std::uint32_t>(random_.below(plan_.shards));
  for (std::uint32_t i = 0; i < plan_.shards; ++i) {
    const std::uint32_t shard = (first + i) % plan_.shards;
    if (!world_.runnable(shard)) continue;
    worked |= !world_.spinning(shard);
    if (!turn(shard)) return true;
    worked |= !world_.spinning(shard);
  }
  return worked;
}

// Runs event after event, up to `us`.
void Simulation::run_until(std::uint64_t us) {
  for (std::uint64_t rounds = 0; !in_trouble(); ++rounds) {
    if (rounds > rounds_max)
      return trace_.broken("the broker comes to rest", "{} rounds before {} us", rounds, us);
    if (round()) {
      if (world_.now_us() < us && random_.chance(1, 2)) world_.advance(1);
      if (world_.now_us() >= us && random_.chance(1, 4)) return;
      continue;
    }
    const std::uint64_t next = world_.next_event(true);
    if (next > us) break;
    world_.advance(next - world_.now_us());
  }
  if (world_.now_us() < us) world_.advance(us - world_.now_us());
}

bool Simulation::settle() {
  world_.unstall();
  std::uint64_t spins = 0;
  for (std::uint64_t rounds = 0; rounds < rounds_max && spins < spins_max && !in_trouble();
       ++rounds) {
    if (round()) {
      if (random_.chance(1, 4)) world_.advance(random_.below(20));
      continue;
    }
    const std::uint64_t next = world_.next_event(false);
    if (next != UINT64_MAX) {
      world_.advance(next - world_.now_us());
      continue;
    }
    bool spinning = false;
    for (std::uint32_t shard = 0; shard < plan_.shards; ++shard) spinning |= world_.runnable(shard);
    if (!spinning) return true;
    ++spins;
    world_.advance(1000);  // a log write that waits for more records is due soon
  }
  if (!in_trouble()) trace_.broken("the broker comes to rest", "at {} us", world_.now_us());
  return false;
}

// Checks the broker at rest. The wait is longer than a second, because a full disk is tried again
// every second.
void Simulation::look_at_rest() {
  trace_.note("{} us: rest", world_.now_us());
  heal();
  clients_.go_on(false);
  if (!settle()) return;
  const std::uint64_t step = world_.step();
  run_until(world_.now_us() + 1'100'000);
  if (!settle()) return;
  model_.rested(step);
  clients_.check_rest();
  for (std::uint32_t shard = 0; shard < plan_.shards; ++shard)
    if (on_the_way(shard)) return;
  clients_.count_all();
  clients_.list_all();
  if (settle()) clients_.check_rest();
  clients_.go_on(true);
  if (!in_trouble() && random_.chance(plan_.rot, 100)) rot_at_rest();
}

}  // namespace pawl::sim

// SPDX-License-Identifier: Apache-2.0
// pawl_sim: runs the simulator over many seeds, replays one, or searches for the mutants of
// core/base/mutant.h.
#include <fmt/core.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/base/mutant.h"
#include "tests/sim/mutants.h"
#include "tests/sim/schedule_run.h"
#include "tests/sim/simulation.h"

namespace pawl::sim {
namespace {

constexpr std::uint64_t mutant_seeds_max = 4000;
constexpr unsigned mutant_seconds_max = 600;

struct Options {
  std::uint64_t first = 1, seeds = 100, operations = 2000;
  std::uint32_t shards = 0;  // 0: by the seed
  bool trace = false, mutants = false, help = false;
  Mutant mutant = Mutant::none;
};

constexpr std::string_view usage =
    "usage: pawl_sim [--seeds N] [--first S] [--seed S] [--operations N] [--shards N] [--mutant "
    "NAME]\n"
    "                [--trace] [--mutants]\n"
    "  --seeds N       how many seeds to run (100)\n"
    "  --first S       the first of them (1)\n"
    "  --seed S        this one alone\n"
    "  --operations N  requests of clients in each (2000)\n"
    "  --shards N      instead of what the seed chooses\n"
    "  --mutant NAME   with this mistake built in\n"
    "  --mutants       every mistake, each until it is found; --seeds is then the most (4000)\n"
    "  --trace         print what happens\n";

std::optional<Mutant> mutant_named(std::string_view name) {
  for (const MutantName& known : mutant_names)
    if (name == known.name) return known.mutant;
  return std::nullopt;
}

std::string_view name_of(Mutant mutant) {
  for (const MutantName& known : mutant_names)
    if (mutant == known.mutant) return known.name;
  return "none";
}

bool parse(int argc, char** argv, Options& options) {
  bool seeds_given = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--trace") {
      options.trace = true;
      continue;
    }
    if (flag == "--mutants") {
      options.mutants = true;
      continue;
    }
    if (i + 1 == argc) return false;
    const std::string_view value = argv[++i];
    if (flag == "--mutant") {
      const auto mutant = mutant_named(value);
      if (!mutant) return false;
      options.mutant = *mutant;
      continue;
    }
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size()) return false;
    if (flag == "--seeds") {
      options.seeds = number;
      seeds_given = true;
    } else if (flag == "--first") {
      options.first = number;
    } else if (flag == "--seed") {
      options.first = number;
      options.seeds = 1;
      seeds_given = true;
    } else if (flag == "--operations") {
      options.operations = number;
    } else if (flag == "--shards" && number <= 8) {
      options.shards = static_cast<std::uint32_t>(number);
    } else {
      return false;
    }
  }
  if (options.mutants && !seeds_given) options.seeds = mutant_seeds_max;
  return true;
}

std::string replay_command(const Options& options, std::uint64_t seed) {
  std::string command = fmt::format("pawl_sim --seed {} --operations {}", seed, options.operations);
  if (options.shards != 0) command += fmt::format(" --shards {}", options.shards);
  if (active_mutant != Mutant::none) command += fmt::format(" --mutant {}", name_of(active_mutant));
  return command + " --trace";
}

// A CHECK of the broker ends the process; its command line must not be lost.
char last_words[256];
void on_abort(int) {
  const std::size_t length = std::strlen(last_words);
  if (::write(STDERR_FILENO, last_words, length) < 0) std::_Exit(3);
  std::_Exit(2);
}

Outcome run_seed(const Options& options, std::uint64_t seed) {
  const std::string words =
      fmt::format("seed {} failed; replay it with: {}\n", seed, replay_command(options, seed));
  std::strncpy(last_words, words.c_str(), sizeof last_words - 1);
  Outcome outcome =
      Simulation(make_plan(seed, options.operations, options.shards), options.trace).run();
  if (!outcome.ok) return outcome;
  ScheduleRun schedules(seed, options.trace);
  outcome.ok = schedules.run();
  outcome.invariant = schedules.trace().invariant();
  outcome.what = schedules.trace().what();
  outcome.hash = mix(outcome.hash ^ schedules.trace().hash());
  outcome.fires = schedules.received();
  return outcome;
}

int run_seeds(const Options& options) {
  const auto begun = std::chrono::steady_clock::now();
  Outcome total;
  std::uint64_t failed = 0;
  for (std::uint64_t seed = options.first; seed < options.first + options.seeds; ++seed) {
    const Outcome outcome = run_seed(options, seed);
    if (!outcome.ok) {
      ++failed;
      fmt::print("seed {} broke \"{}\": {}\n  replay: {}\n", seed, outcome.invariant, outcome.what,
                 replay_command(options, seed));
      std::fflush(stdout);
    }
    total.hash = mix(total.hash ^ outcome.hash);
    total.operations += outcome.operations;
    total.turns += outcome.turns;
    total.crashes += outcome.crashes;
    total.starts += outcome.starts;
    total.stops += outcome.stops;
    total.faults += outcome.faults;
    total.refused += outcome.refused;
    total.set_aside += outcome.set_aside;
    total.bodies_read += outcome.bodies_read;
    total.relocated += outcome.relocated;
    total.copies += outcome.copies;
    total.pairs.add(outcome.pairs);
    total.replays_proved += outcome.replays_proved;
    total.fires += outcome.fires;
    total.simulated_us += outcome.simulated_us;
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  fmt::print(
      "{} seeds, {} failed: {} operations ({} a seed), {} turns, {} crashes, {} starts, {} stops, "
      "{} disk errors, {} refusals, {} KiB of bodies read back, {} KiB relocated, {} set aside, {} "
      "copies received ({} demanded), {} messages of schedules, "
      "{:.0f} s simulated "
      "in {:.1f} s, {:.0f} seeds/s, hash {:016x}\n",
      options.seeds, failed, total.operations,
      total.operations / std::max<std::uint64_t>(options.seeds, 1), total.turns, total.crashes,
      total.starts, total.stops, total.faults, total.refused, total.bodies_read >> 10,
      total.relocated >> 10, total.set_aside, total.copies, total.replays_proved, total.fires,
      static_cast<double>(total.simulated_us) / 1e6, seconds,
      static_cast<double>(options.seeds) / seconds, total.hash);
  fmt::print("pairs of features that one message had: {}\n", total.pairs.describe());
  fmt::print("{} passed, {} failed\n", options.seeds - failed, failed);
  return failed == 0 ? 0 : 1;
}

// --- mutants ---

struct Hunt {
  std::uint64_t seeds = 0;  // seeds begun
  bool found = false;
  char how[120] = {};
};

// Starts a child process, because a mutant may end the process; `hunt` is in shared memory.
pid_t start_hunt(const Options& options, Mutant mutant, Hunt& hunt) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child != 0) return child;
  alarm(mutant_seconds_max);
  if (freopen("/dev/null", "w", stderr) == nullptr) _exit(3);
  signal(SIGABRT, SIG_DFL);
  active_mutant = mutant;
  std::strncpy(hunt.how, "the process died", sizeof hunt.how - 1);
  for (std::uint64_t seed = options.first; seed < options.first + options.seeds; ++seed) {
    ++hunt.seeds;
    const Outcome outcome = run_seed(options, seed);
    if (outcome.ok) continue;
    hunt.found = true;
    std::strncpy(hunt.how, outcome.invariant.c_str(), sizeof hunt.how - 1);
    break;
  }
  _exit(0);
}

void end_hunt(int status, Hunt& hunt) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
    std::strncpy(hunt.how, "no end in time", sizeof hunt.how - 1);
  if (!WIFEXITED(status)) hunt.found = true;
}

// One child process for each core. The results are printed in the order of `mutant_names`.
int hunt_mutants(const Options& options) {
  constexpr std::size_t count = std::size(mutant_names);
  void* const shared = mmap(nullptr, sizeof(Hunt) * count, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 3;
  auto* const hunts = static_cast<Hunt*>(shared);
  std::array<pid_t, count> children{};  // 0 once it has ended
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  std::size_t started = 0, ended = 0, printed = 0, found = 0;
  fmt::print("{:<26} {:>6}  {}\n", "mutant", "seeds", "found as");
  while (ended < count) {
    while (started < count && started - ended < cores) {
      hunts[started] = {};
      children[started] = start_hunt(options, mutant_names[started].mutant, hunts[started]);
      if (children[started] < 0) return 3;
      ++started;
    }
    int status = 0;
    const auto child = std::find(children.begin(), children.end(), wait(&status));
    if (child == children.end()) return 3;
    *child = 0;
    ++ended;
    end_hunt(status, hunts[child - children.begin()]);
    for (; printed < started && children[printed] == 0; ++printed) {
      const Hunt& hunt = hunts[printed];
      found += hunt.found ? 1 : 0;
      fmt::print("{:<26} {:>6}  {}\n", mutant_names[printed].name, hunt.seeds,
                 hunt.found ? std::string_view(hunt.how) : "NOT FOUND");
    }
  }
  fmt::print("{} passed, {} failed\n", found, count - found);
  return found == count ? 0 : 1;
}

}  // namespace
}  // namespace pawl::sim

int main(int argc, char** argv) {
  using namespace pawl::sim;
  Options options;
  if (!parse(argc, argv, options)) {
    fmt::print(stderr, "{}", usage);
    return 64;
  }
  if (options.mutants) return hunt_mutants(options);
  pawl::active_mutant = options.mutant;
  signal(SIGABRT, on_abort);
  return run_seeds(options);
}

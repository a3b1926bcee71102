// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/plan.h"

#include <fmt/core.h>

#include <algorithm>

#include "tests/sim/random.h"

namespace pawl::sim {
namespace {

std::uint64_t one_of(Random& random, std::initializer_list<std::uint64_t> choices) {
  return choices.begin()[random.below(choices.size())];
}

void choose_log(Plan& plan, Random random) {
  // At least four extents per segment: check_free_space() of the log holds two back, and with one
  // spare segment it would otherwise accept nothing.
  plan.log.extent_bytes = one_of(random, {16 << 10, 16 << 10, 32 << 10});
  plan.log.segment_bytes = one_of(random, {4, 4, 8}) * plan.log.extent_bytes;
  plan.log.spare_segments = static_cast<std::uint32_t>(random.between(1, 3));
  plan.log.small_segments = random.chance(3, 4);
  plan.log.flush_each_fill = plan.seed % 4 < 2;
  plan.log.fill_every = milliseconds(plan.seed % 3 == 0 ? 0 : plan.seed % 3 == 1 ? 1 : 16);
  plan.log.lazy_max = milliseconds(static_cast<std::int64_t>(one_of(random, {1, 10, 10, 50})));
  plan.log.memory_max = one_of(random, {6, 16, 4096}) * plan.log.extent_bytes;
  plan.labelled_queues_max = plan.seed % 4;
  plan.slice_entries = one_of(random, {1, 4, 16, 512});
  plan.log.dead_bytes_max = one_of(random, {0, 4, 4096}) * plan.log.segment_bytes;
  plan.disk.delay_us_min = one_of(random, {5, 50, 50, 200});
  plan.disk.delay_us_max = plan.disk.delay_us_min + one_of(random, {100, 1000, 5000, 20000});
  // A quarter of the logs reaches position 2^48, from where on the low bits of positions repeat.
  const std::uint64_t before_wrap = random.between(1, 8);
  if (random.chance(1, 4))
    plan.log.first_segment = (log_pos_max + 1) / plan.log.segment_bytes - before_wrap;
}

void choose_load(Plan& plan, Random random) {
  plan.queue_names = static_cast<std::uint32_t>(random.between(1, 5));
  plan.clients = static_cast<std::uint32_t>(random.between(1, 6));
  plan.calls_a_client = static_cast<std::uint32_t>(random.between(1, 12));
  plan.batch_max = static_cast<std::uint32_t>(one_of(random, {1, 3, 10, 10}));
  // The largest body that fits a record, with space for the parts that are not the body.
  const std::uint64_t largest = plan.log.extent_bytes - block_bytes - log_frame_header_bytes - 640;
  plan.body_max = std::min<std::uint64_t>(largest, one_of(random, {30, 300, 2000, 6000, 60000}));
  const std::uint32_t large_batch = plan.seed % 5 == 0 ? 10 : 3;
  if (plan.body_max > 2000) plan.batch_max = std::min(plan.batch_max, large_batch);
  plan.weights = {30, 30, 30, 6, 3, 1, 2, 1, 2, 2, 0, 0, 0};
  for (std::size_t act = static_cast<std::size_t>(Act::change);
       act <= static_cast<std::size_t>(Act::drop_client); ++act) {
    const std::uint64_t times = one_of(random, {0, 1, 1, 1, 3});
    plan.weights[act] = static_cast<std::uint32_t>(plan.weights[act] * times);
  }
  plan.weights[0] = static_cast<std::uint32_t>(one_of(random, {15, 30, 30, 40}));
  plan.weights[2] = static_cast<std::uint32_t>(one_of(random, {10, 30, 30, 40}));
  plan.short_retention = random.chance(1, 3);
  plan.delays = random.chance(1, 2);
  plan.long_polls = one_of(random, {0, 20, 50, 90});
}

// A third of the seeds has no FIFO queue, a quarter has nothing else. Half of the seeds have no
// dead letters, two thirds no move tasks.
void choose_kinds(Plan& plan, Random random) {
  const std::uint64_t all = plan.queue_names;
  plan.fifo_names = one_of(random, {0, 0, 0, 0, all, all, all, random.below(all + 1)});
  plan.groups = one_of(random, {1, 3, 10, 40});
  plan.duplicates = one_of(random, {5, 30, 60});
  plan.fair = one_of(random, {0, 0, 50, 100});
  plan.dead_letters = one_of(random, {0, 0, 30, 70});
  plan.relaxed = one_of(random, {0, 0, 30, 100});
  // Early responses of async queues may then be far ahead of the disk.
  if (plan.relaxed > 0 && random.chance(1, 3)) {
    plan.disk.delay_us_min = one_of(random, {50, 20'000, 60'000});
    plan.disk.delay_us_max = 300'000;
  }
  plan.moves = random.chance(1, 3);
  plan.own_fifo = random.chance(1, 3);
  // A dead letter without space at its target is hidden for a second, from move tasks too. The
  // model does not know that: if its policy changes meanwhile, a task completes although a message
  // seems to be left.
  if (!plan.moves) {
    plan.memory = one_of(random, {0, 0, 0, 384 << 10});
  } else {
    plan.log.memory_max = std::max<std::uint64_t>(plan.log.memory_max, 64 * plan.log.extent_bytes);
    plan.weights[static_cast<std::size_t>(Act::start_move)] = 2;
    plan.weights[static_cast<std::size_t>(Act::cancel_move)] = random.chance(1, 2) ? 1 : 0;
    plan.weights[static_cast<std::size_t>(Act::list_moves)] = 3;
  }
}

bool slow_disk(const Plan& plan) { return plan.disk.delay_us_max >= 300'000; }

void choose_faults(Plan& plan, Random random) {
  const auto chance = [&](Fault fault, std::uint32_t usual) {
    plan.chances[static_cast<std::size_t>(fault)] =
        static_cast<std::uint32_t>(usual * one_of(random, {0, 1, 1, 2, 5}));
  };
  chance(Fault::crash, 10);
  chance(Fault::stop, 5);
  chance(Fault::stall, 20);
  chance(Fault::disk_error, 6);
  chance(Fault::disk_full, 4);
  chance(Fault::burst, 2);
  chance(Fault::long_pause, 40);
  chance(Fault::quiet, 30);
  chance(Fault::clock_step, 10);
  plan.power_cuts = one_of(random, {0, 50, 90, 100});
  plan.nested_crashes = one_of(random, {0, 10, 40});
  plan.double_starts = one_of(random, {0, 0, 10, 40});
  plan.clock_jumps = one_of(random, {0, 0, 10, 50});
  plan.rot = one_of(random, {0, 50});
  if (slow_disk(plan)) {
    std::uint32_t& crash = plan.chances[static_cast<std::size_t>(Fault::crash)];
    crash = std::max<std::uint32_t>(crash, 50);
  }
  plan.step_us_max = one_of(random, {20, 200, 1000, 4000});
  plan.wake_us_max = one_of(random, {0, 100, 5000});
  plan.extra_turns = one_of(random, {0, 5, 50});
  plan.inside = one_of(random, {0, 0, 20, 60});
}

// Half of the seeds with little memory fill it with metadata: small messages, few of which are
// deleted.
void choose_backlog(Plan& plan, Random random) {
  if (plan.memory == 0 || !random.chance(1, 2)) return;
  plan.body_max = 30;
  plan.batch_max = 10;
  plan.fair = 100;
  plan.weights[static_cast<std::size_t>(Act::send)] = 60;
  plan.weights[static_cast<std::size_t>(Act::receive)] = 15;
  plan.weights[static_cast<std::size_t>(Act::delete_message)] = 10;
}

// A third of the seeds runs replay tasks, and keeps messages for them in most queues.
void choose_replays(Plan& plan, Random random) {
  if (!random.chance(1, 3)) return;
  plan.replays = one_of(random, {2, 5, 10});
  plan.kept = 60;
  plan.weights[static_cast<std::size_t>(Act::start_replay)] = 2;
  plan.weights[static_cast<std::size_t>(Act::cancel_replay)] = random.chance(1, 3) ? 1 : 0;
  plan.weights[static_cast<std::size_t>(Act::list_replays)] = 2;
}

}  // namespace

Plan make_plan(std::uint64_t seed, std::uint64_t operations, std::uint32_t shards) {
  Random random = Random(seed).split("plan");
  Plan plan;
  plan.seed = seed;
  plan.operations = operations;
  plan.shards = static_cast<std::uint32_t>(random.between(1, 3));
  if (shards != 0) plan.shards = shards;
  choose_log(plan, random.split("log"));
  choose_load(plan, random.split("load"));
  choose_kinds(plan, random.split("kinds"));
  choose_faults(plan, random.split("faults"));
  Random kept = random.split("kept");
  plan.kept = one_of(kept, {0, 0, 0, 50});
  Random misplaced = random.split("misplaced");
  plan.misplaced = one_of(misplaced, {0, 0, 5, 20});
  Random strict = random.split("strict");
  plan.strict = strict.chance(1, 3);
  // A fifth of the seeds has queues that run out of message numbers.
  Random numbers = random.split("numbers");
  if (numbers.chance(1, 5)) plan.first_number = seq_newest_max - one_of(numbers, {3, 30, 100, 300});
  choose_replays(plan, random.split("replays"));
  choose_backlog(plan, random.split("backlog"));
  Random scopes = random.split("scopes");
  if (plan.fifo_names > 0) plan.scopes = one_of(scopes, {0, 30, 70});
  Random numbered = random.split("numbered");
  if (plan.fifo_names < plan.queue_names) plan.numbered = one_of(numbered, {0, 0, 50, 100});
  Random shared = random.split("shared");
  plan.shared = one_of(shared, {0, 30, 100});
  Random calendar = random.split("calendar");
  plan.calendar_horizon =
      milliseconds(static_cast<std::int64_t>(one_of(calendar, {700, 2000, 5000})));
  plan.calendar_bits = static_cast<unsigned>(one_of(calendar, {4, 10, 13}));
  plan.slots_of_calendar_a_turn = one_of(calendar, {1, 3, 1024});
  Random by_id = random.split("by id");
  plan.by_id = one_of(by_id, {0, 20, 50});
  Random lives = random.split("lives");
  plan.lives = one_of(lives, {0, 0, 20});
  return plan;
}

std::string describe(const Plan& plan) {
  return fmt::format(
      "seed {} shards {} segment {} extent {} spares {} memory {} lazy {} ms disk {}-{} us queues "
      "{} "
      "clients {} x {} batch {} body {} step {} us fifo {} groups {} duplicates {} fair {} dead {} "
      "relaxed {} kept {} moves {} strict {} numbers {} replays {} scopes {} numbered {} shared {} "
      "by id {} lives {} calendar {} ms, 2^{}",
      plan.seed, plan.shards, plan.log.segment_bytes, plan.log.extent_bytes,
      plan.log.spare_segments, plan.log.memory_max, plan.log.lazy_max.ms, plan.disk.delay_us_min,
      plan.disk.delay_us_max, plan.queue_names, plan.clients, plan.calls_a_client, plan.batch_max,
      plan.body_max, plan.step_us_max, plan.fifo_names, plan.groups, plan.duplicates, plan.fair,
      plan.dead_letters, plan.relaxed, plan.kept, plan.moves ? 1 : 0, plan.strict ? 1 : 0,
      plan.first_number, plan.replays, plan.scopes, plan.numbered, plan.shared, plan.by_id,
      plan.lives, plan.calendar_horizon.ms, plan.calendar_bits);
}

}  // namespace pawl::sim

// SPDX-License-Identifier: Apache-2.0
// Plan: the meaning of a seed. Every choice that holds for a whole run is made here. A run that
// always mixes everything evenly misses faults of rare or missing operations. So each seed omits
// some operations and faults and exaggerates others.
//
// Units:  chances are per 10,000 actions of the scheduler.
// Owner:  values.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/queue/labelled_queues.h"
#include "tests/sim/sim_disk.h"
#include "wal/log.h"

namespace pawl::sim {

enum class Act : std::uint8_t {
  send,
  receive,
  delete_message,
  change,
  count,
  purge,
  create,
  delete_queue,
  set,
  drop_client,
  start_move,
  cancel_move,
  list_moves,
  start_replay,
  cancel_replay,
  list_replays,
};
inline constexpr std::size_t acts = 16;

enum class Fault : std::uint8_t {
  crash,       // the whole broker crashes at once
  stop,        // an orderly stop, then a startup
  stall,       // a shard does not run for 1 ms to 3 s
  disk_error,  // one operation of a disk fails
  disk_full,   // a disk has space for at most one more segment
  burst,       // more requests at once than a mesh ring holds
  long_pause,  // time advances by 50 ms to 290 s
  quiet,       // everything comes to rest and is checked
  clock_step,  // the wall clock is set
};
inline constexpr std::size_t faults = 9;

inline constexpr Duration deleted_name_wait = seconds(60);

struct Plan {
  std::uint64_t seed = 0;
  std::uint64_t operations = 2000;
  std::uint32_t shards = 1;
  LogOptions log;
  SimDiskOptions disk;
  // Limit of the shard's state and log image together; 0: the log's options set it.
  std::uint64_t memory = 0;
  std::size_t labelled_queues_max = LabelledQueues::most_default;
  std::uint64_t slice_entries = 512;  // entries of a checkpoint that are written in one turn
  // As in ShardLimits: a message is pending from a delay of some seconds on.
  Duration calendar_horizon = seconds(5);
  unsigned calendar_bits = 10;
  std::uint64_t slots_of_calendar_a_turn = 1024;

  std::uint32_t queue_names = 3;
  std::uint32_t clients = 4;
  std::uint32_t calls_a_client = 4;
  std::uint32_t batch_max = 10;
  std::uint64_t body_max = 1000;
  std::array<std::uint32_t, acts> weights{};
  bool short_retention = false;    // some queues keep messages for a minute only
  bool delays = false;             // queues and sends may have delays
  std::uint64_t long_polls = 0;    // per 100 receives
  std::uint64_t fifo_names = 0;    // number of FIFO queues
  std::uint64_t groups = 3;        // message groups per queue
  std::uint64_t duplicates = 0;    // per 100 sends to FIFO queues
  std::uint64_t numbered = 0;      // sends with a producer, per 100 sends to standard queues
  std::uint64_t shared = 0;        // sends of one message that go to several queues, per 100
  std::uint64_t fair = 0;          // sends with a group, per 100 sends to standard queues
  std::uint64_t dead_letters = 0;  // changes of the redrive policy, per 100 attribute changes
  std::uint64_t relaxed = 0;       // changes of the durability, per 100 attribute changes
  std::uint64_t kept = 0;          // changes of the replay retention, per 100 attribute changes
  bool strict = false;             // the name of a deleted queue is unusable for a time
  Seq first_number = 1;            // message number at which each queue begins
  bool moves = false;              // there are move tasks, and two queues for them alone
  bool own_fifo = false;
  std::uint64_t replays = 0;  // maximum of replay tasks in a run
  // Changes of the deduplication scope, per 100 attribute changes of FIFO queues.
  std::uint64_t scopes = 0;
  std::uint64_t lives = 0;  // sends with a time to live, per 100; and some queues have one
  std::uint64_t by_id = 0;  // deletes and changes that name messages by their ids, per 100

  std::array<std::uint32_t, faults> chances{};
  std::uint64_t power_cuts = 50;     // per 100 crashes; the others kill the process only
  std::uint64_t nested_crashes = 0;  // per 100 starts
  std::uint64_t double_starts = 0;   // per 100 starts
  std::uint64_t clock_jumps = 0;     // per 100 starts
  // Starts, per 100, that first find a part of the data directory lost, swapped or old.
  std::uint64_t misplaced = 0;
  std::uint64_t rot = 0;            // flips of one bit of a file, per 100 stops or rests
  std::uint64_t step_us_max = 500;  // us, maximum between two actions
  std::uint64_t wake_us_max = 100;  // us, maximum delay of a wake-up
  std::uint64_t extra_turns = 5;    // per 100 idle turns: the shard takes another one
  std::uint64_t inside = 0;  // per 100 responses: the client submits again while it handles one
};

Plan make_plan(std::uint64_t seed, std::uint64_t operations, std::uint32_t shards);
std::string describe(const Plan& plan);

}  // namespace pawl::sim

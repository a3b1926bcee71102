// Plan: what a seed means. Every choice that holds for a whole run is made here; a run that always mixes
// everything evenly misses what happens when something is rare or missing, so each seed leaves some
// operations and faults out and exaggerates others.
//
// Units:  chances are per 10,000 actions of the scheduler.
// Owner:  values.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "tests/sim/sim_disk.h"
#include "wal/log.h"

namespace pawl::sim {

enum class Act : std::uint8_t {
  send,
  receive,
  remove,
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
  crash,       // of everything, at once
  stop,        // in order, and start again
  stall,       // a shard is not run for long
  disk_error,  // an operation of a disk fails
  disk_full,   // no more room for new segments
  burst,       // more requests for another shard than its ring holds
  long_pause,  // time goes on by seconds
  quiet,       // everything comes to rest, and is looked at
  clock_step,  // somebody sets the wall clock
};
inline constexpr std::size_t faults = 9;

inline constexpr Duration deleted_name_wait = seconds(60);

struct Plan {
  std::uint64_t seed = 0;
  std::uint64_t operations = 2000;
  std::uint32_t shards = 1;
  LogOptions log;
  SimDiskOptions disk;
  std::uint64_t memory =
      0;  // of state and image together; 0: the log's options say how large that is
  std::uint64_t slice_entries = 512;  // of a checkpoint, a turn

  std::uint32_t queue_names = 3;
  std::uint32_t clients = 4;
  std::uint32_t calls_a_client = 4;
  std::uint32_t batch_max = 10;
  std::uint64_t body_max = 1000;
  std::array<std::uint32_t, acts> weights{};
  bool short_retention = false;    // queues keep messages for a minute
  bool delays = false;             // queues and sends may delay
  std::uint64_t long_polls = 0;    // of 100 receives
  std::uint64_t fifo_names = 0;    // so many of the queues are FIFO
  std::uint64_t groups = 3;        // message groups of a queue
  std::uint64_t duplicates = 0;    // of 100 sends to FIFO queues
  std::uint64_t fair = 0;          // of 100 sends to other queues have a group
  std::uint64_t dead_letters = 0;  // of 100 changes of attributes set a policy
  std::uint64_t relaxed = 0;       // of 100 changes of attributes set the durability
  std::uint64_t kept = 0;  // of 100 changes of attributes have what was sent kept for replay
  bool strict = false;     // names of deleted queues wait
  Seq first_number = 1;    // of each queue's messages
  bool moves = false;      // move tasks, and two queues of their own for them
  bool own_fifo = false;
  std::uint64_t replays = 0;  // replay tasks that are started at most
  std::uint64_t scopes = 0;   // of 100 changes of a FIFO queue change its deduplication scope

  std::array<std::uint32_t, faults> chances{};
  std::uint64_t power_cuts = 50;     // of 100 crashes; the others are kills of the process
  std::uint64_t nested_crashes = 0;  // of 100 starts
  std::uint64_t double_starts = 0;   // of 100 starts
  std::uint64_t clock_jumps = 0;     // of 100 starts
  std::uint64_t misplaced = 0;  // of 100 starts: a part of the data directory is not there at first
  std::uint64_t rot = 0;        // of 100 stops: a bit of a file flips meanwhile
  std::uint64_t step_us_max = 500;  // between two actions
  std::uint64_t wake_us_max = 100;  // how long a wake-up may take
  std::uint64_t extra_turns = 5;    // of 100: a shard is run without need
  std::uint64_t inside = 0;         // of 100 answers: the client asks again from within
};

Plan make_plan(std::uint64_t seed, std::uint64_t operations, std::uint32_t shards);
std::string describe(const Plan& plan);

}  // namespace pawl::sim

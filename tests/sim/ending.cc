// SPDX-License-Identifier: Apache-2.0
// The end of a run: faults heal, everything comes to rest, and all messages are received and
// deleted. Then the broker must be empty.
#include <algorithm>
#include <utility>

#include "tests/sim/simulation.h"

namespace pawl::sim {
namespace {

constexpr std::uint64_t longest_poll_us = 25'000'000;
constexpr std::uint64_t name_wait_us = 1000 * (deleted_name_wait.ms + 1);
constexpr std::uint64_t expired_wait_us = 40'000'000;
constexpr std::uint64_t window_us = 301'000'000;
constexpr int drain_rounds_max = 2000;
// A message may pass through all queues before it can be received, with a second in each queue that
// has no free space.
constexpr int quiet_rounds = 6;

}  // namespace

void Simulation::end() {
  trace_.note("{} us: the end begins", world_.now_us());
  plan_.nested_crashes = 0;
  plan_.rot = 0;
  plan_.clock_jumps = 0;
  heal();
  world_.set_wall_clock_right();
  world_.unstall();
  clients_.drop_all();
  look_at_rest();
  clients_.go_on(false);
  if (in_trouble()) return;
  run_until(world_.now_us() + longest_poll_us);
  if (!settle()) return;
  if (clients_.under_way() != 0)
    return trace_.broken("every request is answered", "{} are not", clients_.under_way());
  clients_.list_queues();
  clients_.peek_all();
  if (!settle()) return;
  if (plan_.strict) run_until(world_.now_us() + name_wait_us);
  // Expired dead letters grow older than the shortest retention, which begins anew for them.
  if (plan_.lives > 0) run_until(world_.now_us() + expired_wait_us);
  clients_.create_all();
  clients_.list_all();
  if (!settle()) return;
  drain();
  if (in_trouble()) return;
  check_empty();
  // After a stop in order the broker must still be empty, and take new messages.
  if (in_trouble() || !stop()) return;
  start();
  if (in_trouble()) return;
  clients_.count_all();
  clients_.list_queues();
  if (!settle()) return;
  const std::uint64_t refused = clients_.refused();
  for (std::uint32_t queue = 0; queue < model_.queues().size(); ++queue)
    if (model_.queues()[queue].state == QueueRow::State::live) clients_.send_one(queue);
  run_until(world_.now_us() + 1'100'000);  // responses that wait for group commit come, too
  if (!settle()) return;
  if (clients_.refused() != refused)
    return trace_.broken("an empty broker takes a message", "refused");
  drain();
  if (!in_trouble()) check_empty();
}

// Receives and deletes all messages; waits for delayed and in-flight ones.
void Simulation::drain() {
  int quiet = 0;
  bool waited_for_space = false;
  for (int round = 0; round < drain_rounds_max; ++round) {
    const Instant begun = world_.now();
    const bool came = drain_round();
    if (in_trouble()) return;
    quiet = came ? 0 : quiet + 1;
    if (came) continue;
    // First waits for messages in flight: they may be dead letters when they become visible.
    Instant last;
    for (const QueueRow& queue : model_.queues()) last = std::max(last, model_.last_ready(queue));
    if (last >= begun) {  // a timer fires in the millisecond after its own
      quiet = 0;
      const std::int64_t ms = std::max<std::int64_t>(0, (last - world_.now()).ms) + 2;
      run_until(world_.now_us() + static_cast<std::uint64_t>(ms) * 1000);
      if (!settle()) return;
      continue;
    }
    if (model_.any_wanders() && quiet < quiet_rounds) {
      clients_.list_all();
      run_until(world_.now_us() + 1'100'000);
      if (!settle()) return;
      continue;
    }
    // Deduplication entries of FIFO queues take memory that moving messages may need.
    if (model_.any_wanders() && plan_.memory != 0 && !std::exchange(waited_for_space, true)) {
      run_until(world_.now_us() + window_us);
      if (!settle()) return;
      quiet = 0;
      continue;
    }
    if (model_.any_replay()) {
      quiet = 0;
      clients_.list_all();
      run_until(world_.now_us() + 3'100'000);  // messages of a replay task may be delayed
      if (!settle()) return;
      continue;
    }
    model_.conclude();
    model_.check_replays();
    return;
  }
  trace_.broken("every queue can be drained", "not in {} rounds", drain_rounds_max);
}

// Whether a message came or was deleted, or the broker died.
bool Simulation::drain_round() {
  const std::uint64_t before = clients_.deliveries();
  const std::uint64_t crashes = outcome_.crashes;
  // Messages behind deleted ones of their group come in the next round.
  bool freed = false;
  for (std::uint32_t queue = 0; queue < model_.queues().size(); ++queue) {
    if (model_.queues()[queue].state == QueueRow::State::deleted) continue;
    for (int i = 0; i < 4; ++i) freed |= clients_.receive_and_delete(queue);
  }
  settle();
  freed |= clients_.delete_held();
  settle();
  return clients_.deliveries() != before || outcome_.crashes != crashes || freed;
}

// Checks that nothing is left, after the last deletes and one deduplication window: until its end
// the window keeps segments in use.
void Simulation::check_empty() {
  clients_.delete_held();
  clients_.list_all();
  if (!settle()) return;
  model_.check_tasks_ended();
  const bool fifo = plan_.fifo_names > 0 || plan_.own_fifo || plan_.replays > 0;
  const bool remembers = fifo || plan_.numbered > 0 || plan_.shared > 0;
  run_until(world_.now_us() + (remembers ? window_us : 1'100'000));
  clients_.count_all();
  if (!settle()) return;
  run_until(world_.now_us() + 1'100'000);
  if (!settle()) return;
  for (std::uint32_t i = 0; i < plan_.shards; ++i) {
    ShardLoop& loop = world_.loop(i);
    const std::uint64_t image = loop.log().stats().image_bytes;
    if (on_the_way(i)) return;
    if (loop.shard().messages() != 0 || loop.shard().waiting() != 0)
      return trace_.broken("nothing is left", "shard {}: {} messages, {} long polls", i,
                           loop.shard().messages(), loop.shard().waiting());
    if (loop.log().messages() != 0 && loop.shard().set_aside() == 0)
      return trace_.broken("nothing is left", "shard {}: the log counts {} messages", i,
                           loop.log().messages());
    if (const std::uint64_t kept = loop.shard().memory().dedup;
        kept > 0 && !fifo && plan_.shared == 0)
      return trace_.broken("nothing is left", "shard {}: {} bytes of producers", i, kept);
    // Recovery reads a checkpoint, and as much log as is written before the next one.
    const LogStats stats = loop.log().stats();
    if (stats.used_bytes - stats.replay_bytes >
        3 * plan_.log.segment_bytes + 10 * stats.checkpoint_bytes)
      return trace_.broken("nothing is left", "shard {}: {} bytes in {} segments", i,
                           stats.used_bytes, stats.segments);
    // The extent that is being filled, and extents that are not durable: a few at most.
    if (image > 4 * plan_.log.extent_bytes)
      return trace_.broken("nothing is left", "shard {}: {} bytes of memory", i, image);
  }
}

// Whether a message is between two queues, or a source has not confirmed a transfer. Either is a
// broken invariant.
bool Simulation::on_the_way(std::uint32_t shard) {
  const Shard& at = world_.loop(shard).shard();
  if (at.transfers() == 0 && at.unsettled_transfers().empty()) return false;
  trace_.broken("what moves arrives", "shard {}: {} under way, {} not settled", shard,
                at.transfers(), at.unsettled_transfers().size());
  return true;
}

}  // namespace pawl::sim

// SPDX-License-Identifier: Apache-2.0
#include "core/shard/shard.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/mutant.h"
#include "core/shard/peek.h"
#include "core/shard/queue_list.h"

namespace pawl {

Shard::Shard(const ShardIdentity& identity, const ShardLimits& limits, Instant start)
    : state_(identity, limits, start) {}

void Shard::apply(Request& request, Instant now, Effects& effects) {
  CHECK(request.waiter == 0, "the request waits in row {}", request.waiter);
  state_.statistics.now = now;
  if (changes_directory(request.op)) return changes_.apply(request, now, effects);
  if (request.op == Op::transfer) return apply_transfer(request, now, effects);
  if (request.op == Op::fan_out) return sends_.fan_out(request, now, effects);
  if (request.op == Op::list_queues) return list_queues(state_, request, effects);
  if (request.op == Op::peek) return peek(state_, request, now, effects);
  Queue* const queue = state_.find_queue(request.queue);
  if (queue == nullptr) {
    request.error = Errc::no_such_queue;
    effects.replies.push_back({&request, false});
    return;
  }
  switch (request.op) {
    case Op::send:
      return sends_.send(*queue, request, now, effects);
    case Op::take_numbers:
      return sends_.take_numbers(*queue, request, now, effects);
    case Op::receive:
      return receives_.receive(*queue, request, now, effects);
    case Op::delete_message:
      return receipts_.delete_messages(*queue, request, now, effects);
    case Op::change_visibility:
      return receipts_.change_visibility(*queue, request, now, effects);
    case Op::undeliver:
      return receipts_.undeliver(*queue, request, now, effects);
    case Op::purge:
      return reclaimer_.purge(*queue, request, now, effects);
    case Op::count:
      request.counts = counts_of(*queue);
      request.config = queue->config;
      effects.replies.push_back({&request, false});
      return;
    case Op::start_move:
      return moves_.start(*queue, request, now, effects);
    case Op::cancel_move:
      return moves_.cancel(*queue, request, effects);
    case Op::list_moves:
      return moves_.list(*queue, request, effects);
    case Op::start_replay:
      return replays_.start(*queue, request, now, effects);
    case Op::cancel_replay:
      return replays_.cancel(*queue, request, effects);
    case Op::list_replays:
      return replays_.list(*queue, request, effects);
    case Op::fan_out:
    case Op::transfer:
    case Op::list_queues:
    case Op::peek:
    case Op::create_queue:
    case Op::delete_queue:
    case Op::set_attributes:
    case Op::none:
      break;
  }
  CHECK(false, "op {}", static_cast<int>(request.op));
}

void Shard::apply_transfer(Request& request, Instant now, Effects& effects) {
  CHECK(request.transfer != nullptr && &request.transfer->request == &request);
  Transfer& transfer = *request.transfer;
  switch (transfer.stage) {
    case Transfer::Stage::accept:
      return transfers_.accept(transfer, now, effects);
    case Transfer::Stage::commit:
      if (Queue* const source = transfers_.commit(transfer, now, effects); source != nullptr)
        moves_.note_moved(*source, transfer, now, effects);
      return transfers_.finish_commit(transfer, effects);
    case Transfer::Stage::forget:
      return transfers_.forget(transfer, effects);
    case Transfer::Stage::done:
      return transfers_.finish(transfer, effects);
    case Transfer::Stage::free:
      break;
  }
  CHECK(false, "a transfer that is not under way");
}

void Shard::release_waiters(Effects& effects) {
  state_.stopping.write() = true;
  for (const auto& [id, queue] : *state_.queues) polls_.answer_all(*queue, Errc::ok, effects);
}

void Shard::appended(Effects& effects, Lsn lsn) {
  commits_.appended(effects, lsn);
#ifdef PAWL_MUTANTS
  state_.statistics.check(state_.queues);
#endif
}

void Shard::match(Instant now, Effects& effects) {
  if (state_.armed.take(ShardPart::match)) receives_.match(now, effects);
}

// --- time ---

Instant Shard::next_deadline() {
  return !armed(ShardPart::reclaim) && commits_.idle() ? state_.timers.next() : Instant{0};
}

bool Shard::expire(Instant passed, Instant now, Effects& effects) {
  CHECK(passed <= now, "passed {}, now {}", passed.ms, now.ms);
  state_.pages.begin_turn();
  state_.statistics.now = now;
  check_armed();
  if (state_.armed.take(ShardPart::reclaim)) {
    reclaimer_.reclaim(effects);
    if (!reclaimer_.idle()) state_.arm(ShardPart::reclaim);
  }
  if (state_.armed.take(ShardPart::moves)) moves_.begin(now, effects);
  const bool more =
      state_.timers.expire(passed, state_.limits.timer_visits_a_turn,
                           [&](const TimerEntry& entry) { return on_timer(entry, now, effects); });
  if (state_.timers.stale() > 0)
    state_.timers.sweep(state_.limits.swept_a_turn,
                        [this](const TimerEntry& entry) { return live(entry); });
  return more || state_.armed.has(ShardPart::reclaim);
}

// A part with work is armed. The simulator's build asks them all.
void Shard::check_armed() const {
#ifdef PAWL_MUTANTS
  const auto check = [this](ShardPart part, bool has_work) {
    CHECK(!has_work || armed(part), "part {} of the shard has work and is not armed",
          static_cast<int>(part));
  };
  check(ShardPart::reclaim, !reclaimer_.idle());
  check(ShardPart::moves, commits_.any_begun());
  check(ShardPart::match, polls_.wants_match());
  check(ShardPart::replay, replays_.any());
  check(ShardPart::schedules, schedules_.any_changed());
#endif
}

bool Shard::live(const TimerEntry& entry) const {
  switch (entry.kind) {
    case timer_message: {
      if (!state_.slots->there(entry.subject)) return false;
      const Slot& slot = state_.slots[entry.subject];
      return slot.timer_armed && slot.generation == entry.generation;
    }
    case timer_waiter:
      return polls_.live(entry);
    case timer_retention: {
      const Queue* const queue = state_.existing_queue(entry.subject);
      return queue != nullptr && queue->retention_generation == entry.generation;
    }
    case timer_moves: {
      const Queue* const queue = state_.existing_queue(entry.subject);
      return queue != nullptr && queue->moves && queue->moves->timer_armed &&
             queue->moves->generation == entry.generation;
    }
    case timer_forget: {
      const Queue* const queue = state_.existing_queue(entry.subject);
      return queue != nullptr && queue->forget_armed &&
             queue->forget_generation == entry.generation;
    }
    case timer_calendar: {
      const Queue* const queue = state_.existing_queue(entry.subject);
      return queue != nullptr && Pending::live(*queue, entry);
    }
    case timer_lease:
      return state_.leases->live(entry);
    default:
      CHECK(false, "timer kind {}", static_cast<int>(entry.kind));
  }
}

// Returns the number of messages, queues or receives whose time has come; 0: the entry was stale.
std::size_t Shard::on_timer(const TimerEntry& entry, Instant now, Effects& effects) {
  const bool again =
      MUTANT(fire_timer_twice) && entry.kind == timer_message && state_.slots->there(entry.subject);
  if (!live(entry) && !again) return 0;
  if (entry.kind == timer_retention) {
    Queue& queue = *state_.existing_queue(entry.subject);
    queue.retention_armed = never;
    return expiry_.expire(queue, now, effects);
  }
  if (entry.kind == timer_moves) {
    Queue& queue = *state_.existing_queue(entry.subject);
    queue.moves->timer_armed = false;
    moves_.move_on(queue, now, effects);
    return 1;
  }
  if (entry.kind == timer_forget) {
    Queue& queue = *state_.existing_queue(entry.subject);
    queue.forget_armed = false;
    history_.forget_expired(queue, now);
    return 1;
  }
  if (entry.kind == timer_calendar)
    return pending_.approach(*state_.existing_queue(entry.subject), now);
  if (entry.kind == timer_waiter) {
    Queue* const queue = state_.find_queue(polls_.queue_of(entry.subject));
    CHECK(queue != nullptr, "a waiter of a queue that is gone");
    effects.replies.push_back({polls_.unpark(*queue, entry.subject), false});
    return 1;
  }
  if (entry.kind == timer_lease) {
    const std::span<const std::uint32_t> ended = states_.end_lease(entry.subject);
    for (const std::uint32_t row : ended)
      returns_.lease_ended(*state_.existing_queue(raw(state_.slots[row].queue)), row, now, effects);
    return std::max<std::size_t>(1, ended.size());
  }
  Slot& slot = state_.slot(entry.subject);
  slot.timer_armed = 0;
  // A slot of a retired queue is freed later; the queue does not know it.
  Queue* const queue = state_.existing_queue(raw(slot.queue));
  if (queue == nullptr) return 1;
  const IndexEntry indexed = queue->index.find(slot.seq);
  if (!indexed.is_slot() || indexed.slot() != entry.subject) return 1;
  returns_.timer_fired(*queue, entry.subject, now, effects);
  return 1;
}

// --- recovery ---

std::vector<UnsettledTransfer> Shard::unsettled_transfers() const {
  std::vector<UnsettledTransfer> unsettled;
  for (const auto& [key, at] : transfers_.unsettled()) unsettled.push_back({key, at.task});
  return unsettled;
}

std::uint32_t Shard::newest_queue_id() const {
  std::uint32_t newest = 0;
  for (const auto& [id, queue] : *state_.queues) newest = std::max(newest, id);
  return newest;
}

std::vector<std::pair<QueueId, std::uint64_t>> Shard::queues_with_messages() const {
  std::vector<std::pair<QueueId, std::uint64_t>> found;
  for (const auto& [id, queue] : *state_.queues)
    if (queue->index.size() > 0) found.emplace_back(QueueId{id}, queue->index.size());
  std::ranges::sort(found);
  return found;
}

// --- figures ---

void Shard::delivered(QueueId id, std::span<const Delivery> deliveries, Instant now) {
  state_.statistics.now = now;
  Queue* const queue = state_.find_queue(id);
  if (queue != nullptr) state_.statistics.delivered(*queue, deliveries);
}

ShardMemory Shard::memory() const {
  const ShardState& s = state_;
  return {.index = s.pages.bytes() + s.times_bytes,
          .slots = s.slots->bytes() + s.leases->bytes() + s.groups_bytes,
          .timers = s.timers.bytes() + s.calendar_bytes,
          .dedup = s.fifo_bytes + s.attempts_bytes + s.producers_bytes,
          .transfers = transfers_.bytes(),
          .queues = s.directory->table_memory() + s.directory->config_memory() / s.identity.shards +
                    s.deleted_names->memory() + s.kept_bytes + s.fires_bytes + schedules_.memory() +
                    s.queues->size() * ShardState::queue_bytes +
                    s.queues->bucket_count() * sizeof(void*) + s.statistics.memory() +
                    reclaimer_.memory() + commits_.memory(),
          .waiting = polls_.memory() + transfers_.memory() + state_.recent_receives->bytes()};
}

std::uint64_t Shard::messages() const {
  std::uint64_t total = 0;
  for (const auto& [id, queue] : *state_.queues) total += queue->index.size();
  return total;
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "core/shard.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/mutant.h"

namespace pawl {

ShardLimits ShardLimits::for_memory(std::uint64_t bytes) {
  ShardLimits limits;
  limits.slots_max = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(limits.slots_max, bytes / 2 / sizeof(Slot)));
  limits.dedup_max = std::min(limits.dedup_max, bytes / 4 / Dedup::entry_bytes);
  limits.attempts_bytes_max = std::min(limits.attempts_bytes_max, bytes / 16);
  limits.spare_bytes = std::min<std::uint64_t>(limits.spare_bytes, bytes / 64);
  limits.transfer_bytes_max = std::min(limits.transfer_bytes_max, bytes / 16);
  limits.transfer_bytes_unread =
      std::min(limits.transfer_bytes_unread, limits.transfer_bytes_max / 8);
  return limits;
}

Shard::Shard(const ShardIdentity& identity, const ShardLimits& limits, Instant start)
    : identity_(identity),
      limits_(limits),
      deleted_names_(limits.deleted_name_wait),
      pages_(std::min(PagePool::spares_max, limits.spare_bytes / sizeof(PagePool::Page))),
      slots_(limits.slots_max,
             std::max<std::size_t>(1, limits.spare_bytes / Slab<Slot>::block_bytes())),
      waiters_(limits.waiters_max),
      // Timers that are due at `start` have not fired yet.
      timers_(Instant{std::max<std::int64_t>(1, start.ms) - 1},
              std::min(TimerWheel::sweep_slack, limits.spare_bytes / sizeof(TimerEntry)),
              std::min(TimerWheel::spares_max, limits.spare_bytes / TimerWheel::chunk_bytes)),
      nonce_(identity.nonce_seed) {}

Queue* Shard::find_queue(QueueId id) {
  if (latest_ != nullptr && latest_->id == id) return latest_;
  if (const auto it = queues_.find(raw(id)); it != queues_.end()) return latest_ = it->second.get();
  const ConfigPtr* const config = directory_.find(id);
  if (config == nullptr || (*config)->owner != identity_.id) return nullptr;
  Queue& queue = make_queue(id);  // the first message of a queue
  queue.config = *config;
  return latest_ = &queue;
}

Queue& Shard::make_queue(QueueId id) {
  std::unique_ptr<Queue>& queue = queues_[raw(id)];
  if (queue == nullptr) {
    queue = std::make_unique<Queue>(id, pages_, times_bytes_, kept_bytes_);
    queue->next_seq = limits_.first_number;
  }
  return *queue;
}

void Shard::apply(Request& request, Instant now, Effects& effects) {
  if (request.op == Op::create_queue || request.op == Op::delete_queue ||
      request.op == Op::set_attributes) {
    return apply_directory(request, now, effects);
  }
  if (request.op == Op::transfer) return apply_transfer(request, now, effects);
  Queue* const queue = find_queue(request.queue);
  if (queue == nullptr) {
    request.error = Errc::no_such_queue;
    effects.replies.push_back({&request, false});
    return;
  }
  switch (request.op) {
    case Op::send:
      return send(*queue, request, now, effects);
    case Op::receive:
      return receive(*queue, request, now, effects);
    case Op::remove:
      return delete_messages(*queue, request, now, effects);
    case Op::change_visibility:
      return change_visibility(*queue, request, now, effects);
    case Op::undeliver:
      return undeliver(*queue, request, now, effects);
    case Op::purge:
      return purge(*queue, request, now, effects);
    case Op::count:
      request.counts = {queue->visible(), queue->in_flight, queue->delayed,
                        queue->index.memory() + queue->slots * slot_bytes};
      request.config = queue->config;
      effects.replies.push_back({&request, false});
      return;
    case Op::start_move:
      return start_move(*queue, request, now, effects);
    case Op::cancel_move:
      return cancel_move(*queue, request, effects);
    case Op::list_moves:
      return list_moves(*queue, request, effects);
    case Op::start_replay:
      return start_replay(*queue, request, now, effects);
    case Op::cancel_replay:
      return cancel_replay(*queue, request, effects);
    case Op::list_replays:
      return list_replays(*queue, request, effects);
    case Op::transfer:
    case Op::create_queue:
    case Op::delete_queue:
    case Op::set_attributes:
    case Op::none:
      break;
  }
  CHECK(false, "op {}", static_cast<int>(request.op));
}

// --- the directory ---

namespace {

// The record of a deletion: the queue by its id, account and name, and when it was deleted.
QueueConfig deleted_at(const QueueConfig& config, Instant now) {
  QueueConfig deleted;
  deleted.id = config.id;
  deleted.owner = config.owner;
  deleted.account = config.account;
  deleted.name = config.name;
  deleted.created = config.created;
  deleted.modified = now;
  return deleted;
}

}  // namespace

void Shard::apply_directory(Request& request, Instant now, Effects& effects) {
  CHECK(identity_.id == control_shard, "directory request on shard {}", raw(identity_.id));
  // The shard loop answers a change when it is durable and every shard knows it. A request that
  // changes nothing waits too: its response may depend on a pending change.
  effects.replies.push_back({&request, true});
  deleted_names_.forget(now, limits_.slice_entries);
  if (request.op == Op::create_queue) return create_queue(request, now, effects);

  const ConfigPtr* const found = directory_.find(request.queue);
  if (found == nullptr) {
    request.error = Errc::no_such_queue;
    return;
  }
  request.config = *found;
  if (request.op == Op::delete_queue) {
    auto deleted = std::make_shared<QueueConfig>(deleted_at(**found, now));
    effects.configs.push_back({deleted, true});
    deleted_names_.add(deleted);
    drop_queue(request.queue, effects);
    return;
  }
  set_attributes(*found, request, now, effects);
}

void Shard::set_attributes(const ConfigPtr& found, Request& request, Instant now,
                           Effects& effects) {
  if (request.based_on != nullptr && request.based_on != found) {
    request.error = Errc::changed_meanwhile;
    return;
  }
  auto changed = std::make_shared<QueueConfig>(*found);
  for (const AttributeChange& change : request.changes) changed->apply(change);
  if (request.tags != nullptr) changed->tags = *request.tags;
  changed->note_scope_change(*found, now);
  changed->modified = now;
  if (directory_.bytes() + Directory::bytes_of(*changed) >
      limits_.directory_bytes_max + Directory::bytes_of(*found)) {
    request.error = Errc::directory_full;
    return;
  }
  request.config = changed;
  put_config(changed, now);
  ConfigRecord record{changed, false};
  for (const AttributeChange& change : request.changes)
    if (change.attribute == Attribute::topic_row)
      record.rows.push_back(static_cast<std::uint64_t>(change.number));
  effects.configs.push_back(std::move(record));
}

void Shard::create_queue(Request& request, Instant now, Effects& effects) {
  const QueueSpec& spec = *request.spec;
  if (const ConfigPtr* const found = directory_.find(spec.account, spec.name); found != nullptr) {
    request.config = *found;
    for (const AttributeChange& change : spec.changes) {
      if ((*found)->has(change)) continue;
      request.error = Errc::queue_exists;
      request.differing = change.attribute;
      return;
    }
    return;
  }
  if (deleted_names_.waits(spec.account, spec.name, now)) {
    request.error = Errc::queue_deleted_recently;
    return;
  }
  if (next_queue_id_ > queue_ids_max) {
    request.error = Errc::queue_ids_used_up;
    return;
  }
  auto config = std::make_shared<QueueConfig>();
  config->id = QueueId{next_queue_id_++};
  config->owner = shard_of(spec.account, spec.name, identity_.shards);
  config->account = spec.account;
  config->name = spec.name;
  config->created = config->modified = now;
  for (const AttributeChange& change : spec.changes) config->apply(change);
  config->tags = spec.tags;
  if (directory_.size() >= Directory::queues_max ||
      directory_.size_of(spec.account) >= limits_.account_queues_max ||
      directory_.bytes() + Directory::bytes_of(*config) > limits_.directory_bytes_max) {
    request.error = Errc::directory_full;
    return;
  }
  request.config = config;
  deleted_names_.free(spec.account, spec.name);
  put_config(config, now);
  if (!MUTANT(forget_config_record)) effects.configs.push_back({config, false});
}

void Shard::put_config(const ConfigPtr& config, Instant now) {
  const ConfigPtr* const known = directory_.find(config->id);
  const ConfigPtr latest = known == nullptr ? nullptr : *known;
  directory_.put(config);
  note_replay_retention(latest, config);
  const auto it = queues_.find(raw(config->id));
  if (it == queues_.end()) return;
  Queue& queue = *it->second;
  const ConfigPtr before = std::exchange(queue.config, config);
  arm_retention(queue);
  if (config->is_fifo() && config->delay() != before->delay() && !MUTANT(forget_delay_anew))
    delay_anew(queue, now);
  want_match(queue);  // what was a dead letter may not be one any more
}

void Shard::drop_queue(QueueId id, Effects& effects) {
  if (const ConfigPtr* const known = directory_.find(id); known != nullptr) {
    const ConfigPtr latest = *known;
    directory_.drop(id);
    note_replay_retention(latest, nullptr);
  }
  const auto it = queues_.find(raw(id));
  if (it == queues_.end()) return;
  Queue& queue = *it->second;
  while (!queue.waiters.empty()) {
    Request* const request = unpark(queue, queue.waiters.first);
    timers_.cancelled();
    request->error = Errc::no_such_queue;
    effects.replies.push_back({request, false});
  }
  forget_replays(queue);
  if (queue.retention_armed != never) timers_.cancelled();
  if (queue.moves && queue.moves->timer_armed) timers_.cancelled();
  if (queue.fifo_armed) timers_.cancelled();
  retire(queue);
  if (latest_ == &queue) latest_ = nullptr;
  queues_.erase(it);
}

// --- long polls ---

// The response to a receive from a FIFO queue waits for its record: order must hold across a crash.
void Shard::reply(const Queue& queue, Request& request, Effects& effects) {
  effects.replies.push_back(
      {&request, request.delivered > 0 && queue.config->is_fifo() && !MUTANT(fifo_reply_early)});
}

void Shard::park(Queue& queue, Request& request, Instant now, Duration wait, bool awaits_moves) {
  const std::uint32_t row = waiters_.take();
  CHECK(row != Slab<Waiter>::none);
  Waiter& waiter = waiters_[row];
  waiter.request = &request;
  waiter.queue = queue.id;
  link(queue.waiters, &Waiter::all, row);
  if (awaits_moves) link(queue.awaiting_moves, &Waiter::awaiting_moves, row);
  const std::string_view attempt = request.receive.attempt;
  waiter.attempt = attempt.empty() || !queue.config->is_fifo()
                       ? waiting_attempts_.end()
                       : waiting_attempts_.emplace(
                             std::pair{queue.id, text_key(identity_.secret, attempt)}, row);
  request.waiter = row;
  timers_.arm(now, wait, timer_waiter, row, waiter.generation);
}

Request* Shard::unpark(Queue& queue, std::uint32_t row) {
  Waiter& waiter = waiters_[row];
  CHECK(waiter.request != nullptr && waiter.queue == queue.id);
  unlink(queue.waiters, &Waiter::all, row);
  if (row == queue.awaiting_moves.first || waiter.awaiting_moves.prev != 0)
    unlink(queue.awaiting_moves, &Waiter::awaiting_moves, row);
  if (waiter.attempt != waiting_attempts_.end()) waiting_attempts_.erase(waiter.attempt);
  Request* const request = waiter.request;
  request->waiter = 0;
  waiter.request = nullptr;
  ++waiter.generation;
  waiters_.give(row);
  return request;
}

void Shard::link(RowList& list, RowLinks Waiter::* links, std::uint32_t row) {
  waiters_[row].*links = {.prev = list.last, .next = 0};
  (list.empty() ? list.first : (waiters_[list.last].*links).next) = row;
  list.last = row;
}

void Shard::unlink(RowList& list, RowLinks Waiter::* links, std::uint32_t row) {
  const RowLinks of = std::exchange(waiters_[row].*links, {});
  (of.prev == 0 ? list.first : (waiters_[of.prev].*links).next) = of.next;
  (of.next == 0 ? list.last : (waiters_[of.next].*links).prev) = of.prev;
}

bool Shard::cancel(Request& request) {
  if (request.waiter == 0) return false;
  Queue* const queue = find_queue(request.queue);
  CHECK(queue != nullptr, "a waiter of a queue that is gone");
  unpark(*queue, request.waiter);
  timers_.cancelled();
  return true;
}

void Shard::release_waiters(Effects& effects) {
  stopping_ = true;
  for (const auto& [id, queue] : queues_) {
    while (!queue->waiters.empty()) {
      effects.replies.push_back({unpark(*queue, queue->waiters.first), false});
      timers_.cancelled();
    }
  }
}

void Shard::want_match(Queue& queue) {
  if (queue.in_match_list || queue.waiters.empty()) return;
  queue.in_match_list = true;
  match_list_.push_back(queue.id);
}

void Shard::match(Instant now, Effects& effects) {
  for (const QueueId id : match_list_) {
    const auto it = queues_.find(raw(id));
    if (it == queues_.end()) continue;
    Queue& queue = *it->second;
    do {
      serve_waiters(queue, now, effects);
    } while (answer_attempts(queue, now, effects));
    if (queue.moving == 0) answer_awaiting_moves(queue, effects);
    // Cleared after the walk: a delivery that is visible again at once must not put the queue on
    // the list that is being walked.
    queue.in_match_list = false;
  }
  match_list_.clear();
}

void Shard::serve_waiters(Queue& queue, Instant now, Effects& effects) {
  while (!queue.waiters.empty() && queue.has_ready() && queue.in_flight < in_flight_max) {
    Request& request = *waiters_[queue.waiters.first].request;
    if (!receive_again(queue, request, now, effects)) {
      // Nothing, and no error: there were only dead letters, which are on their way now.
      if (deliver(queue, request, now, effects) == 0 && request.error == Errc::ok) return;
      reply(queue, request, effects);
    }
    unpark(queue, queue.waiters.first);
    timers_.cancelled();
  }
}

// Answers waiting receives whose attempt has just been served with the same messages. True: there
// were any.
bool Shard::answer_attempts(Queue& queue, Instant now, Effects& effects) {
  if (!queue.fifo) return false;
  bool any = false;
  for (const TextKey& noted : std::exchange(queue.fifo->attempts_noted, {})) {
    const std::pair attempt{queue.id, noted};
    auto it = waiting_attempts_.lower_bound(attempt);
    while (it != waiting_attempts_.end() && it->first == attempt) {
      const std::uint32_t row = (it++)->second;
      if (!receive_again(queue, *waiters_[row].request, now, effects)) continue;
      unpark(queue, row);
      timers_.cancelled();
      any = true;
    }
  }
  return any;
}

// Short polls that waited only to let dead letters go first.
void Shard::answer_awaiting_moves(Queue& queue, Effects& effects) {
  while (!queue.awaiting_moves.empty()) {
    reply(queue, *unpark(queue, queue.awaiting_moves.first), effects);
    timers_.cancelled();
  }
}

// --- time ---

bool Shard::expire(Instant passed, Instant now, Effects& effects) {
  reclaim_retired(effects);
  begin_moves(now, effects);
  const bool more = timers_.expire(passed, limits_.cascade_a_turn, [&](const TimerEntry& entry) {
    return on_timer(entry, now, effects);
  });
  timers_.sweep(limits_.timers_a_turn, [this](const TimerEntry& entry) { return live(entry); });
  return more || !retired_queues_.empty();
}

bool Shard::live(const TimerEntry& entry) const {
  switch (entry.kind) {
    case timer_message: {
      if (!slots_.there(entry.subject)) return false;
      const Slot& slot = slots_[entry.subject];
      return slot.timer_armed && slot.generation == entry.generation;
    }
    case timer_waiter: {
      if (!waiters_.there(entry.subject)) return false;
      const Waiter& waiter = waiters_[entry.subject];
      return waiter.request != nullptr && waiter.generation == entry.generation;
    }
    case timer_retention: {
      const auto it = queues_.find(entry.subject);
      return it != queues_.end() && it->second->retention_generation == entry.generation;
    }
    case timer_moves: {
      const auto it = queues_.find(entry.subject);
      return it != queues_.end() && it->second->moves && it->second->moves->timer_armed &&
             it->second->moves->generation == entry.generation;
    }
    case timer_fifo: {
      const auto it = queues_.find(entry.subject);
      return it != queues_.end() && it->second->fifo_armed &&
             it->second->fifo_generation == entry.generation;
    }
    default:
      CHECK(false, "timer kind {}", static_cast<int>(entry.kind));
  }
}

// Returns whether the entry still meant something.
bool Shard::on_timer(const TimerEntry& entry, Instant now, Effects& effects) {
  const bool again =
      MUTANT(fire_timer_twice) && entry.kind == timer_message && slots_.there(entry.subject);
  if (!live(entry) && !again) return false;
  if (entry.kind == timer_retention) {
    Queue& queue = *queues_.find(entry.subject)->second;
    queue.retention_armed = never;
    expire_retention(queue, now, effects);
    return true;
  }
  if (entry.kind == timer_moves) {
    Queue& queue = *queues_.find(entry.subject)->second;
    queue.moves->timer_armed = false;
    move_on(queue, now, effects);
    return true;
  }
  if (entry.kind == timer_fifo) {
    Queue& queue = *queues_.find(entry.subject)->second;
    queue.fifo_armed = false;
    expire_fifo(queue, now);
    return true;
  }
  if (entry.kind == timer_waiter) {
    Queue* const queue = find_queue(waiters_[entry.subject].queue);
    CHECK(queue != nullptr, "a waiter of a queue that is gone");
    effects.replies.push_back({unpark(*queue, entry.subject), false});
    return true;
  }
  Slot& slot = slots_[entry.subject];
  slot.timer_armed = 0;
  // A slot of a retired queue is freed later; the queue does not know it.
  const auto it = queues_.find(raw(slot.queue));
  if (it == queues_.end()) return true;
  Queue& queue = *it->second;
  const IndexEntry indexed = queue.index.find(slot.seq);
  if (!indexed.is_slot() || indexed.slot() != entry.subject) return true;
  show(queue, entry.subject);
  return true;
}

Shard::Memory Shard::memory() const {
  return {
      .index = pages_.bytes() + times_bytes_,
      .slots = slots_.bytes() + groups_bytes_,
      .timers = timers_.bytes(),
      .dedup = fifo_bytes_ + attempts_bytes_,
      .transfers = transfer_bytes_,
      .queues = directory_.table_memory() + directory_.config_memory() / identity_.shards +
                deleted_names_.memory() + kept_bytes_ + queues_.size() * queue_bytes +
                queues_.bucket_count() * sizeof(void*) +
                retired_queues_.size() * (sizeof(Retired) + 2 * PagePool::row_bytes) +
                commits_.capacity() * sizeof(Commit),
      .waiting = waiters_.bytes() +
                 waiting_attempts_.size() * (map_node_bytes + sizeof(*waiting_attempts_.begin())) +
                 transfer_pool_.size() * (sizeof(Transfer) + 32) +
                 held_deletes_.size() * (map_node_bytes + sizeof(*held_deletes_.begin())) +
                 moving_.size() * (map_node_bytes + sizeof(*moving_.begin())) +
                 unsettled_.size() * (map_node_bytes + sizeof(*unsettled_.begin()))};
}

std::uint64_t Shard::messages() const {
  std::uint64_t total = 0;
  for (const auto& [id, queue] : queues_) total += queue->index.size();
  return total;
}

}  // namespace pawl

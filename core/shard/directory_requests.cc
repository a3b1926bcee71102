// SPDX-License-Identifier: Apache-2.0
#include "core/shard/directory_requests.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/mutant.h"

namespace pawl {
namespace {

// The record of a deletion: the queue by its id, account and name, and when it was deleted.
QueueConfig deleted_at(const QueueConfig& config, Instant now) {
  QueueConfig deleted;
  deleted.id = config.id;
  deleted.owner = config.owner;
  deleted.set_name(config.account, config.name);
  deleted.created = config.created;
  deleted.modified = now;
  return deleted;
}

}  // namespace

void DirectoryRequests::apply(Request& request, Instant now, Effects& effects) {
  CHECK(state_.identity.id == control_shard, "directory request on shard {}",
        raw(state_.identity.id));
  // The shard loop answers a change when it is durable and every shard knows it. A request that
  // changes nothing waits too: its response may depend on a pending change.
  effects.replies.push_back({&request, true});
  state_.deleted_names.write().forget(now, state_.limits.slice_entries);
  if (request.op == Op::create_queue) return create_queue(request, now, effects);

  const ConfigPtr* const found = state_.directory->find(request.queue);
  if (found == nullptr) {
    request.error = Errc::no_such_queue;
    return;
  }
  request.config = *found;
  if (request.op == Op::delete_queue) {
    if (request.based_on != nullptr && request.based_on != *found) {
      request.error = Errc::changed_meanwhile;
      return;
    }
    return delete_queue(**found, now, effects);
  }
  set_attributes(*found, request, now, effects);
}

void DirectoryRequests::delete_queue(const QueueConfig& found, Instant now, Effects& effects) {
  auto deleted = std::make_shared<QueueConfig>(deleted_at(found, now));
  effects.configs.push_back({deleted, true});
  state_.deleted_names.write().add(deleted);
  drop_queue(deleted->id, effects);
}

void DirectoryRequests::create_queue(Request& request, Instant now, Effects& effects) {
  CHECK(request.spec != nullptr);
  const QueueSpec& spec = *request.spec;
  if (const ConfigPtr* const found = state_.directory->find(spec.account, spec.name);
      found != nullptr) {
    request.config = *found;
    for (const AttributeChange& change : spec.changes) {
      if ((*found)->has(change)) continue;
      request.error = Errc::queue_exists;
      request.differing = change.attribute;
      return;
    }
    return;
  }
  if (state_.deleted_names->waits(spec.account, spec.name, now)) {
    request.error = Errc::queue_deleted_recently;
    return;
  }
  if (state_.next_queue_id > queue_ids_max) {
    request.error = Errc::queue_ids_used_up;
    return;
  }
  auto config = std::make_shared<QueueConfig>();
  config->id = QueueId{state_.next_queue_id.write()++};
  config->owner = shard_of(spec.account, spec.name, state_.identity.shards);
  config->set_name(spec.account, spec.name);
  config->created = config->modified = now;
  for (const AttributeChange& change : spec.changes) config->apply(change);
  config->tags = spec.tags;
  if (state_.directory->size() >= Directory::queues_max ||
      state_.directory->size_of(spec.account) >= state_.limits.account_queues_max ||
      state_.directory->bytes() + Directory::bytes_of(*config) >
          state_.limits.directory_bytes_max) {
    request.error = Errc::directory_full;
    return;
  }
  request.config = config;
  state_.deleted_names.write().free(spec.account, spec.name);
  put_config(config, now);
  if (!MUTANT(forget_config_record)) effects.configs.push_back({config, false});
}

void DirectoryRequests::set_attributes(const ConfigPtr& found, Request& request, Instant now,
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
  if (state_.directory->bytes() + Directory::bytes_of(*changed) >
      state_.limits.directory_bytes_max + Directory::bytes_of(*found)) {
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

void DirectoryRequests::put_config(const ConfigPtr& config, Instant now) {
  CHECK(config->id != QueueId::none && raw(config->owner) < state_.identity.shards,
        "queue {} on shard {}", raw(config->id), raw(config->owner));
  const ConfigPtr* const known = state_.directory->find(config->id);
  const ConfigPtr latest = known == nullptr ? nullptr : *known;
  CHECK(latest == nullptr || latest->owner == config->owner, "queue {} moves to shard {}",
        raw(config->id), raw(config->owner));
  state_.directory.write().put(config);
  if (latest == nullptr) state_.statistics.created(*config);
  replays_.note_retention(latest, config);
  if (config->kind == ConfigKind::schedule) schedules_.changed(config->id);
  Queue* const existing = state_.existing_queue(raw(config->id));
  if (existing == nullptr) return;
  Queue& queue = *existing;
  const ConfigPtr before = std::exchange(queue.config, config);
  CHECK(before != nullptr && before->id == config->id, "queue {} has no config", raw(config->id));
  retention_.arm_retention(queue);
  const bool anew =
      config->delay() != before->delay() || config->passes_delayed() != before->passes_delayed();
  if (config->is_fifo() && anew && !MUTANT(forget_delay_anew)) states_.delay_anew(queue, now);
  polls_.want_match(queue);  // what was a dead letter may not be one any more
}

void DirectoryRequests::drop_queue(QueueId id, Effects& effects) {
  if (const ConfigPtr* const known = state_.directory->find(id); known != nullptr) {
    const ConfigPtr latest = *known;
    state_.directory.write().drop(id);
    state_.statistics.deleted(id);
    replays_.note_retention(latest, nullptr);
    if (latest->kind == ConfigKind::schedule) schedules_.changed(id);
  }
  Queue* const existing = state_.existing_queue(raw(id));
  if (existing == nullptr) return;
  Queue& queue = *existing;
  polls_.answer_all(queue, Errc::no_such_queue, effects);
  replays_.forget_all(queue);
  if (queue.retention_armed != never) state_.timers.cancelled();
  if (queue.pending && queue.pending->armed != never) state_.timers.cancelled();
  if (queue.moves && queue.moves->timer_armed) state_.timers.cancelled();
  if (queue.forget_armed) state_.timers.cancelled();
  reclaimer_.retire_deleted(queue, effects);
  state_.drop_queue(id);
}

}  // namespace pawl

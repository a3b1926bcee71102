// SPDX-License-Identifier: Apache-2.0
// Changes of the directory: what the control shard decides, and every shard hears of it.
#include <algorithm>
#include <memory>

#include "core/base/check.h"
#include "core/base/mutant.h"
#include "net/engine/shard_loop.h"

namespace pawl {

// A change of a queue is applied after the sends to it that wait for space, and after the changes
// waiting with them: they came first.
void ShardLoop::take_change(ShardId from, ConfigChange& change) {
  for (std::size_t i = 0; i < held_.size(); ++i) {
    const Held& held = held_[i];
    const QueueId queue = held.request != nullptr ? held.request->queue : held.change->config->id;
    const bool any = held.request != nullptr && held.request->op == Op::fan_out;
    if (any || queue == change.config->id)
      return hold({.request = nullptr, .change = &change, .from = from});
  }
  change_queue(from, change);
}

void ShardLoop::change_queue(ShardId from, ConfigChange& change) {
  if (change.gone) {
    shard_->drop_queue(change.config->id, effects_);
  } else {
    shard_->put_config(change.config, now_);
  }
  port_->send(from, {.kind = MeshMessage::Kind::known, .pointer = &change});
}

// A durable change of the directory goes to every shard before it is answered; any other request is
// answered at once. A response "queue exists" goes to every shard first too: the queue's own
// announcement may still be under way.
void ShardLoop::announce(Request& request) {
  const bool named = request.error == Errc::ok || request.error == Errc::queue_exists;
  if (!changes_directory(request.op) || !named || port_->shards() == 1 || MUTANT(tell_nobody))
    return answer(request);
  CHECK(port_->self() == control_shard && request.config != nullptr, "shard {}",
        raw(port_->self()));
  changes_.push_back(std::make_unique<ConfigChange>(
      ConfigChange{request.config, request.op == Op::delete_queue, &request, port_->shards() - 1}));
  for (std::uint32_t to = 0; to < port_->shards(); ++to) {
    const ShardId shard{static_cast<std::uint8_t>(to)};
    if (shard == port_->self()) continue;
    port_->send(shard, {.kind = MeshMessage::Kind::config, .pointer = changes_.back().get()});
  }
}

void ShardLoop::known(ConfigChange& change) {
  CHECK(change.unknown_to > 0 && change.request != nullptr, "a change is acknowledged twice");
  if (--change.unknown_to > 0) return;
  Request& request = *change.request;
  const auto erased =
      std::erase_if(changes_, [&](const auto& held) { return held.get() == &change; });
  CHECK(erased == 1, "{} changes", erased);
  answer(request);
}

// Lets the next changes of rows go, a few a turn: each may be computed again.
void ShardLoop::go_on_with_changes() {
  for (std::size_t left = changes_a_turn; left > 0 && !answered_rows_.empty(); --left) {
    const QueueId row = answered_rows_.front();
    answered_rows_.pop_front();
    Request* const next = change_lines_.next(row);
    if (next == nullptr) continue;
    const ConfigPtr* const current = shard_->directory().find(row);
    if (current == nullptr || *current == next->based_on) {
      route(*next, control_shard);
      continue;
    }
    // It was computed before the changes in front of it.
    next->error = Errc::changed_meanwhile;
    next->config = *current;
    give(*next);
  }
}

}  // namespace pawl

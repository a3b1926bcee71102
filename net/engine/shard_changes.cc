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

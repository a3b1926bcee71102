// SPDX-License-Identifier: Apache-2.0
// Requests that change nothing: counts, lists and peeks, of one queue or of all.
#include "tests/sim/clients.h"

namespace pawl::sim {

void Clients::count_all() {
  for (std::uint32_t queue = 0; queue < model_->queues().size(); ++queue) {
    const QueueRow& row = model_->queues()[queue];
    if (row.state == QueueRow::State::deleted && random_.chance(7, 8)) continue;
    homes_.back() = row.owner;
    Call& call = make(Op::count, plan_.clients, queue);
    call.alone = true;
    submit(call);
  }
}

void Clients::list_all() {
  for (std::uint32_t queue = 0; queue < model_->queues().size(); ++queue) {
    const QueueRow& row = model_->queues()[queue];
    const bool any = row.may_move || row.start_step > 0 || !row.tasks.empty();
    if (row.state == QueueRow::State::deleted) continue;
    if (any) submit(make(Op::list_moves, plan_.clients, queue));
    if (!row.replays.rows.empty()) submit(make(Op::list_replays, plan_.clients, queue));
  }
}

// Each shard is asked for its queues, two rows of the directory a slice; the response to a slice
// asks for the next one.
void Clients::list_queues() {
  for (std::uint32_t shard = 0; shard < plan_.shards; ++shard)
    for (const bool figures : {false, true})
      list_queues(ShardId{static_cast<std::uint8_t>(shard)}, QueueId::none, figures);
}

void Clients::list_queues(ShardId shard, QueueId from, bool figures) {
  Call& call = make(Op::list_queues, plan_.clients, 0);
  call.slice.wants_figures = figures;
  call.target = shard;
  call.request.queue = from;
  call.slice.rows = 2;
  call.alone = true;
  submit(call);
}

// The response to a slice asks for the next one.
Call& Clients::peek(std::uint32_t client, std::uint32_t queue, Seq from, std::uint64_t bytes_max) {
  Call& call = make(Op::peek, client, queue);
  call.deliveries.resize(PeekSlice::looks_max);
  call.peek.from = from;
  call.request.receive.bytes_max = bytes_max;
  submit(call);
  return call;
}

// Each whole queue in one slice.
void Clients::peek_all() {
  for (std::uint32_t queue = 0; queue < model_->queues().size(); ++queue) {
    if (model_->queues()[queue].state == QueueRow::State::deleted) continue;
    peek(plan_.clients, queue, 0, UINT64_MAX).alone = true;
  }
}

}  // namespace pawl::sim

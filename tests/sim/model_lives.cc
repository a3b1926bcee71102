// SPDX-License-Identifier: Apache-2.0
// Model of times to live, and of messages that go to the dead-letter queue when their time ends.
#include <algorithm>

#include "tests/sim/model.h"

namespace pawl::sim {
namespace {

// A turn ends so many lives at most; others follow in the next turns.
constexpr Duration ends_late = seconds(1);

}  // namespace

// The message was accepted. Its time to live begins when it becomes visible.
void Model::begin_life(ModelMessage& message, Duration own) {
  const Duration all = row(message).life;
  message.life = own.ms == 0 || (all.ms != 0 && all < own) ? all : own;
  if (message.life.ms == 0) return;
  message.features |= bit(Feature::time_to_live);
  message.dies = message.view.from_low + message.life;
  message.dead = message.view.from_high + message.life;
}

// It may become visible for the first time between `low` and `high`.
void Model::live_again(ModelMessage& message, Instant low, Instant high) {
  if (message.life.ms == 0) return;
  message.dies = std::min(message.dies, low + message.life);
  message.dead = high == never ? never : std::max(message.dead, high + message.life);
}

// A message from another queue has the time to live of its new queue.
void Model::arrive_to_live(ModelMessage& message, const QueueRow& to) {
  message.life = to.life;
  message.dies = message.dead = never;
  // Its age may have begun anew there, or in a queue on its way.
  const bool anew = std::ranges::any_of(
      queues_, [](const QueueRow& queue) { return queue.moves_expired || queue.ages_from_move; });
  if (anew) message.latest = world_->newest_now();
  if (to.life.ms == 0) return;
  message.features |= bit(Feature::time_to_live);
  message.dies = message.sent_at + to.life;
  message.dead = world_->newest_now() + to.life;
}

// A task may have moved the message before its time ended, unseen: then it was new there, with
// another id.
void Model::note_unseen_hop(ModelMessage& message, const Delivery& delivery) {
  if (delivery.id == message_id(world_->secret(), message.born_queue, message.born_seq)) return;
  for (const QueueRow& queue : queues_) {
    const Seq seq = seq_of_id(world_->secret(), queue.id, delivery.id);
    if (seq == 0) continue;
    message.born_queue = queue.id;
    message.born_seq = seq;
    message.sent_at = delivery.sent;
    message.origin.clear();
    message.view.received = {0, 0};
    message.view.first = Instant{};
    ++row(message).unseen_hops;
    return;
  }
}

// The end of its time moves the message to a queue that takes it, and nothing moves it before.
const QueueRow* Model::surely_moves_expired(const ModelMessage& message) const {
  const QueueRow& queue = row(message);
  const std::uint64_t since = std::max(message.decided_step, message.arrived_step);
  if (!queue.moves_expired || queue.policies.size() != 1 || queue.sets > 0 ||
      queue.set_step >= since || queue.starts_asked > 0)
    return nullptr;
  const QueueRow* const target = surely_there(queue.policies.front().target, queue);
  const bool sure = target != nullptr && target->known_step < since && target->purges == 0 &&
                    !may_be_spent(queue, message.view.received.high) && !world_->numbers_run_out();
  return sure ? target : nullptr;
}

bool Model::may_be_expired(const ModelMessage& message) const {
  const Instant now = world_->newest_now();
  const Instant end = std::min(message.aged + Duration{row(message).retention_min}, message.dies);
  if (!message.wanders) return now >= end;
  if (const QueueRow* const to = surely_moves_expired(message)) {  // which keeps it from then on
    const bool stays = to->exits == 0 && !to->moves_home;
    const Duration kept = stays ? Duration{to->retention_min} : Duration{retention_least_};
    const Duration life = stays ? (to->life.ms == 0 ? life_endless : to->life) : life_least_;
    return now >= end + std::min(kept, life);
  }
  return now >=
         std::min({end, message.aged + Duration{retention_least_}, message.sent_at + life_least_});
}

// No consumer gets it any more; one that had it before may keep it.
bool Model::surely_dead(const ModelMessage& message, const Turn& turn) const {
  if (message.sent != ModelMessage::Sent::acked || message.wanders || message.moves > 0 ||
      message.dead == never || (row(message).fifo && row(message).sets > 0))
    return false;
  return std::min(turn.fired, shards_[raw(row(message).owner)].swept) > message.dead + ends_late;
}

}  // namespace pawl::sim

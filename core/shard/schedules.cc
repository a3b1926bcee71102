// SPDX-License-Identifier: Apache-2.0
#include "core/shard/schedules.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/mutant.h"

namespace pawl {

void Schedules::recovered() {
  CHECK(!recovered_ && changed_.empty(), "{} schedules changed during recovery", changed_.size());
  recovered_ = true;
  std::erase_if(newest_,
                [&](const auto& fire) { return state_.directory->find(fire.first) == nullptr; });
  state_.directory->for_each([this](const ConfigPtr& config) {
    if (config->kind == ConfigKind::schedule) changed(config->id);
  });
}

void Schedules::changed(QueueId schedule) {
  CHECK(schedule != QueueId::none);
  changed_.push_back(schedule);
  if (state_.directory->find(schedule) == nullptr) newest_.erase(schedule);
  state_.arm(ShardPart::schedules);
}

void Schedules::note(Queue& queue, const Fire& fire, Seq seq) {
  if (!queue.fires) queue.fires = std::make_unique<Fires>(state_.fires_bytes.write());
  if (MUTANT(forget_fire)) return;
  queue.fires->note(fire, seq);
  // The schedule was deleted while this message was under way.
  if (recovered_ && state_.directory->find(fire.schedule) == nullptr) return;
  Instant& newest = newest_[fire.schedule];
  newest = std::max(newest, fire.at);
}

Instant Schedules::newest(QueueId schedule) const {
  const auto found = newest_.find(schedule);
  return found == newest_.end() ? Instant{} : found->second;
}

std::uint64_t Schedules::memory() const {
  constexpr std::uint64_t row = sizeof(*newest_.begin()) + 2 * sizeof(void*) + heap_block_bytes;
  return follower_bytes_ + changed_.capacity() * sizeof(QueueId) + newest_.size() * row +
         newest_.bucket_count() * sizeof(void*);
}

bool Schedules::is_there(QueueId schedule, QueueId queue) const {
  const Queue* const found = state_.existing_queue(raw(queue));
  const Fires::Entry* const entry =
      found == nullptr || !found->fires ? nullptr : found->fires->newest(schedule);
  if (entry == nullptr) return false;
  CHECK(entry->seq != 0 && entry->seq < seq_max, "seq {}", entry->seq);
  return !found->is_gone(entry->seq);
}

}  // namespace pawl

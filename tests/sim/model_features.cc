// SPDX-License-Identifier: Apache-2.0
// The features that a message met, for the count of their pairs.
#include "tests/sim/model.h"

namespace pawl::sim {
namespace {

constexpr std::int64_t short_retention_ms = 120'000;

}  // namespace

void Model::note_features(ModelMessage& message, const QueueRow& queue, Instant deliver_at) const {
  const bool delayed = deliver_at > message.sent_at;
  const auto note = [&](Feature feature, bool has) {
    if (has) message.features |= bit(feature);
  };
  note(Feature::fifo, queue.fifo);
  note(Feature::tenant, !queue.fifo && message.group != 0);
  note(Feature::producer, message.producer != 0 && message.producer != publisher);
  note(Feature::shared, message.shares != UINT32_MAX);
  note(Feature::delay, delayed);
  note(Feature::long_delay, delayed && queue.apart);
  note(Feature::pending, !queue.fifo && queue.apart && message.group == 0 && message.life.ms == 0 &&
                             world_->is_far(message.sent_at, deliver_at));
  note(Feature::expiry, queue.retention_min <= short_retention_ms);
  note(Feature::relaxed, queue.durability.high > 0);
  note(Feature::back_off, queue.backoff.high > 0);
  note(Feature::lease_end, queue.at_lease_end);
}

FeaturePairs Model::pairs() const {
  FeaturePairs pairs;
  for (const ModelMessage& message : messages_)
    if (message.sent != ModelMessage::Sent::refused) pairs.add(message.features);
  return pairs;
}

}  // namespace pawl::sim

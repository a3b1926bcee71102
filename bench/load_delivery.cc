// SPDX-License-Identifier: Apache-2.0
#include "bench/load_delivery.h"

#include <algorithm>

#include "core/base/check.h"

namespace pawl::load {
namespace {

constexpr std::uint64_t count_mask = (std::uint64_t{1} << producer_shift) - 1;
constexpr std::uint64_t in_flight_max = 1 << 20;  // of one producer: depth times batch

}  // namespace

DeliveryCheck::DeliveryCheck(std::uint32_t producers, std::uint32_t groups)
    : groups_(groups), fates_(producers) {
  CHECK(producers > 0, "no producer");
}

// Null: no message of this run.
std::uint8_t* DeliveryCheck::fate_of(std::uint64_t sequence) {
  const std::uint64_t producer = sequence >> producer_shift;
  const std::uint64_t count = sequence & count_mask;
  if (producer < 1 || producer > fates_.size()) return nullptr;
  std::vector<std::uint8_t>& fates = fates_[producer - 1];
  if (count > fates.size() + in_flight_max) return nullptr;
  if (fates.size() <= count) fates.resize(std::max<std::size_t>(count + 1, 2 * fates.size()));
  return &fates[count];
}

void DeliveryCheck::accepted(std::uint64_t first, std::uint32_t count) {
  const std::lock_guard lock(mutex_);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint8_t* const fate = fate_of(first + i);
    CHECK(fate != nullptr, "an accepted message with the number {}", first + i);
    *fate |= is_accepted;
  }
}

std::uint32_t DeliveryCheck::delivered(std::span<const Delivered> messages) {
  const std::lock_guard lock(mutex_);
  std::uint32_t fresh = 0;
  for (const Delivered& message : messages) {
    std::uint8_t* const fate = fate_of(message.sequence);
    if (fate == nullptr) continue;
    if ((*fate & is_received) != 0) {
      ++counts_.duplicates;
      continue;
    }
    *fate |= is_received;
    ++fresh;
    if (groups_ > 0) check_order(message.sequence);
  }
  return fresh;
}

void DeliveryCheck::check_order(std::uint64_t sequence) {
  const std::uint64_t producer = sequence >> producer_shift;
  std::uint64_t& latest = latest_[producer * groups_ + sequence % groups_];
  if (sequence < latest) ++counts_.disordered;
  latest = std::max(latest, sequence);
}

DeliveryCounts DeliveryCheck::counts() const {
  const std::lock_guard lock(mutex_);
  DeliveryCounts counts = counts_;
  for (const std::vector<std::uint8_t>& fates : fates_)
    counts.lost += static_cast<std::uint64_t>(
        std::ranges::count(fates, static_cast<std::uint8_t>(is_accepted)));
  return counts;
}

}  // namespace pawl::load

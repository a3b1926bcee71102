// SPDX-License-Identifier: Apache-2.0
#include "proto/binary/subscriptions.h"

#include "proto/binary/payloads.h"

namespace pawl {

void write_empty_deliver(std::string& out, const Subscription& subscription) {
  FrameHeader header = subscription.request;
  header.op = static_cast<std::uint8_t>(BinaryOp::deliver);
  header.flags = static_cast<std::uint8_t>(header.flags | flag_answer);
  const std::size_t begin = begin_frame(out, header);
  put_count<payload::Delivery>(out, 0);
  finish_frame(out, begin);
}

Subscription* Subscriptions::add(const Subscription& subscription) {
  if (active_.size() >= subscriptions_max) return nullptr;
  const auto [entry, added] = active_.emplace(subscription.request.correlation, subscription);
  return added ? &entry->second : nullptr;
}

Subscription* Subscriptions::find(std::uint32_t correlation) {
  const auto found = active_.find(correlation);
  return found == active_.end() ? nullptr : &found->second;
}

bool Subscriptions::grant(std::uint32_t correlation, std::uint32_t credit) {
  Subscription* const subscription = find(correlation);
  if (credit > subscription_credit_max) return false;
  if (subscription == nullptr) return true;
  if (subscription->credit + credit > subscription_credit_max) return false;
  subscription->credit += credit;
  return true;
}

}  // namespace pawl

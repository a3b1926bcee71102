// SPDX-License-Identifier: Apache-2.0
#include "net/client/held_messages.h"

#include <cstring>

#include "core/base/check.h"

namespace pawl::client {

HeldMessages::HeldMessages(std::uint32_t capacity) : slots_(capacity) {
  CHECK(capacity > 0, "no slot");
  free_.reserve(capacity);
  for (Index index = capacity; index-- > 0;) free_.push_back(index);
  by_id_.reserve(capacity);
}

// A message id is random: eight bytes are a hash.
std::size_t HeldMessages::IdHash::operator()(const Client::MessageId& id) const {
  std::size_t hash = 0;
  std::memcpy(&hash, id.data() + id.size() - sizeof hash, sizeof hash);
  return hash;
}

HeldMessages::Index HeldMessages::take(const Client::MessageView& message) {
  CHECK(!free_.empty(), "all {} slots are taken", slots_.size());
  const Index index = free_.back();
  free_.pop_back();
  Held& held = slots_[index];
  CHECK(held.state == Held::State::free, "slot {} is taken twice", index);
  held.state = Held::State::under_way;
  held.extendable = true;
  ++held.use;
  held.receipt = message.receipt;
  held.id = message.id;
  by_id_[held.id] = index;
  return index;
}

void HeldMessages::free(Index index) {
  Held& held = (*this)[index];
  CHECK(held.state != Held::State::free, "slot {} is freed twice", index);
  const auto found = by_id_.find(held.id);
  if (found != by_id_.end() && found->second == index) by_id_.erase(found);
  held.state = Held::State::free;
  held.queued = held.extendable = held.redelivered = false;
  held.copy.reset();
  free_.push_back(index);
}

Held& HeldMessages::operator[](Index index) {
  CHECK(index < slots_.size(), "slot {} of {}", index, slots_.size());
  return slots_[index];
}

Consumer::Token HeldMessages::token(Index index) const {
  CHECK(index < slots_.size(), "slot {} of {}", index, slots_.size());
  return {.slot = index, .use = slots_[index].use};
}

HeldMessages::Index HeldMessages::find(Consumer::Token token) const {
  if (token.slot >= slots_.size()) return none;
  const Held& held = slots_[token.slot];
  return held.use == token.use && held.state == Held::State::under_way ? token.slot : none;
}

HeldMessages::Index HeldMessages::find(const Client::MessageId& id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? none : found->second;
}

}  // namespace pawl::client

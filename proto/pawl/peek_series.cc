// SPDX-License-Identifier: Apache-2.0
#include "proto/pawl/peek_series.h"

#include <iterator>
#include <utility>

namespace pawl {
namespace {

// In the order of PeekedMessage::State.
constexpr std::string_view peeked_states[] = {"not_durable", "delayed", "visible",
                                              "in_flight",   "moving",  "unreadable"};

}  // namespace

CallStep PeekSeries::begin(ConfigPtr queue, Seq from, std::uint32_t states,
                           std::uint32_t slices_max) {
  CHECK(queue != nullptr && slices_max > 0, "a series of {} slices", slices_max);
  queue_ = std::move(queue);
  slices_left_ = slices_max;
  slice_ = PeekSlice();
  slice_.states = states;
  deliveries_.resize(slice_messages);
  return ask(from);
}

CallStep PeekSeries::ask(Seq from) {
  CHECK(from >= slice_.from && slices_left_ > 0, "a slice goes back to {}", from);
  --slices_left_;
  slice_.from = from;
  request_ = Request{.op = Op::peek, .queue = queue_->id};
  request_.receive.bytes_max = slice_bytes;
  request_.deliveries = deliveries_;
  request_.peek = &slice_;
  return CallStep::route;
}

std::size_t PeekSeries::memory() const {
  return deliveries_.capacity() * sizeof(Delivery) +
         slice_.messages.capacity() * sizeof(PeekedMessage) + request_.route.copied.capacity() +
         envelopes_.capacity();
}

std::string_view name_of(PeekedMessage::State state) {
  const auto i = static_cast<std::size_t>(state);
  CHECK(i < std::size(peeked_states), "state {}", i);
  return peeked_states[i];
}

std::uint32_t state_bit(std::string_view name) {
  const auto found = std::ranges::find(peeked_states, name);
  return found == std::end(peeked_states) ? 0 : 1u << (found - std::begin(peeked_states));
}

}  // namespace pawl

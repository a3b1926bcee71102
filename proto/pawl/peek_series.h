// SPDX-License-Identifier: Apache-2.0
// PeekSeries: the messages of a queue in every state, asked for slice after slice.
//
//   begin --route--> [peek applied] --> resume --route--> [peek applied] --> resume --respond-->
//
// Units:  Seq numbers the messages of a queue in the order of their sends.
// Limits: slice_messages and slice_bytes a request; slices_max of begin().
// Errors: error(): the one of the shard, after which nothing more is asked.
// Owner:  the call. The request and the deliveries are valid until the next begin().
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "core/queue/directory.h"
#include "core/queue/request.h"
#include "proto/aws/call_types.h"
#include "proto/aws/notification.h"

namespace pawl {

class PeekSeries {
 public:
  static constexpr std::size_t slice_messages = 64;
  static constexpr std::uint64_t slice_bytes = 1 << 20;
  // The slices of an action, which looks at 32,768 messages at most.
  static constexpr std::uint32_t call_slices_max = 64;

  // `states`: bits of PeekSlice. After slices_max requests the series ends with next().
  CallStep begin(ConfigPtr queue, Seq from, std::uint32_t states, std::uint32_t slices_max);
  CallRoute route() {
    CHECK(queue_ != nullptr, "a series that did not begin has no route");
    return {&request_, queue_->owner};
  }
  // Calls visit(message, delivery) for each message of the slice; the delivery is null without a
  // body. False of it ends the series before that message.
  template <typename Visit>
  CallStep resume(Visit&& visit);

  Errc error() const { return request_.error; }
  // Where the next series goes on; 0: the queue has no further message.
  Seq next() const { return next_; }
  // The last slice, with facts of the queue.
  const PeekSlice& slice() const { return slice_; }
  const QueueConfig& queue() const {
    CHECK(queue_ != nullptr, "a series that did not begin has no queue");
    return *queue_;
  }
  std::size_t memory() const;  // approximate bytes held

 private:
  CallStep ask(Seq from);

  ConfigPtr queue_;
  PeekSlice slice_;
  std::vector<Delivery> deliveries_;
  Request request_;
  std::string envelopes_;
  std::uint32_t slices_left_ = 0;
  Seq next_ = 0;
};

template <typename Visit>
CallStep PeekSeries::resume(Visit&& visit) {
  CHECK(request_.peek == &slice_, "a series that asked for nothing is resumed");
  if (request_.error != Errc::ok) return CallStep::respond;
  CHECK(request_.delivered <= slice_.messages.size(), "{} bodies", request_.delivered);
  const std::span<Delivery> bodies = std::span(deliveries_).first(request_.delivered);
  envelopes_.clear();
  put_in_envelopes(bodies, envelopes_);
  auto body = bodies.begin();
  for (const PeekedMessage& message : slice_.messages) {
    Delivery* const stored = body != bodies.end() && body->seq == message.seq ? &*body++ : nullptr;
    if (stored != nullptr) {
      stored->receive_count = message.receive_count;
      stored->first_received = message.first_received;
    }
    next_ = message.seq;
    if (!visit(message, stored)) return CallStep::respond;
  }
  CHECK(body == bodies.end(), "message {} has a body and is not listed", body->seq);
  CHECK(slice_.next == 0 || slice_.next > slice_.from, "from {} to {}", slice_.from, slice_.next);
  next_ = slice_.next;
  return next_ == 0 || slices_left_ == 0 ? CallStep::respond : ask(next_);
}

// The name of a state in JSON: "in_flight".
std::string_view name_of(PeekedMessage::State state);
// One bit of PeekSlice::states; 0: there is no such state.
std::uint32_t state_bit(std::string_view name);
// The states, with commas, for error texts.
inline constexpr std::string_view state_names_text =
    "not_durable, delayed, visible, in_flight, moving, unreadable";

}  // namespace pawl

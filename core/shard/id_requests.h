// SPDX-License-Identifier: Apache-2.0
// Requests with message ids: cancel and reschedule messages that are not in flight.
//
//   sent | delayed | visible --cancel--> deleted
//                            --reschedule--> delayed, or visible at once
//   in flight --cancel, even in flight--> in flight, deleted when its consumer gives it back
//
// The number of a message follows from its id (core/queue/receipt.h), so a request costs the same
// in a queue of any size.
//
// Limits: a new delivery time needs a slot.
// Errors: in each ReceiptEntry: message_id_invalid, message_in_flight, message_gone (reschedule),
//         overloaded. A message on its way to another queue counts as in flight.
// Owner:  core/shard/receipt_requests.h.
#pragma once

#include "core/queue/effects.h"
#include "core/queue/request.h"
#include "core/shard/message_states.h"
#include "core/shard/shard_state.h"

namespace pawl {

class IdRequests {
 public:
  IdRequests(ShardState& state, MessageStates& states) : state_(state), states_(states) {}

  Errc cancel(Queue& queue, ReceiptEntry& entry, Instant now, Effects& effects);
  Errc reschedule(Queue& queue, const ReceiptEntry& entry, Instant now, Effects& effects);

 private:
  Errc cancel_in_flight(Queue& queue, ReceiptEntry& entry, Seq seq, IndexEntry indexed,
                        Effects& effects);
  std::uint32_t slot_of(Queue& queue, Seq seq, IndexEntry indexed);

  ShardState& state_;
  MessageStates& states_;
};

}  // namespace pawl

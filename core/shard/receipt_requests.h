// SPDX-License-Identifier: Apache-2.0
// Requests with receipt handles: delete, change of visibility, return of a delivery.
//
// Limits: a visibility timeout ends at most 12 h after its delivery, or x-max-visibility.
// Errors: in each ReceiptEntry: receipt_invalid, receipt_expired, message_gone,
//         visibility_beyond_max, overloaded; by id those of IdRequests.
// Owner:  core/shard/shard.h.
// Source: SQS API Reference, DeleteMessage and ChangeMessageVisibility.
#pragma once

#include "core/queue/effects.h"
#include "core/queue/receipt.h"
#include "core/queue/request.h"
#include "core/shard/id_requests.h"
#include "core/shard/message_states.h"
#include "core/shard/returns.h"
#include "core/shard/shard_state.h"
#include "core/shard/transfers.h"

namespace pawl {

class ReceiptRequests {
 public:
  ReceiptRequests(ShardState& state, MessageStates& states, Transfers& transfers, Returns& returns)
      : state_(state),
        states_(states),
        transfers_(transfers),
        returns_(returns),
        by_id_(state, states) {}

  void delete_messages(Queue& queue, Request& request, Instant now, Effects& effects);
  void change_visibility(Queue& queue, Request& request, Instant now, Effects& effects);
  // The response to a receive did not reach its client: its messages become visible.
  void undeliver(Queue& queue, Request& request, Instant now, Effects& effects);

 private:
  Errc delete_message(Queue& queue, const ReceiptEntry& entry, Request& request, Instant now,
                      Effects& effects);
  void count_delete(Queue& queue, const Receipt& receipt, IndexEntry indexed);
  static Errc delete_set_aside(Queue& queue, const Receipt& receipt, Effects& effects);
  Errc change_one(Queue& queue, const ReceiptEntry& entry, Instant now, Effects& effects);
  Errc give_back_uncounted(Queue& queue, std::uint32_t row, std::uint32_t nonce, Duration wait,
                           Instant now, Effects& effects);
  static void uncount(Slot& slot);
  Result<Receipt> open(const ReceiptHandle& handle, const Queue& queue, Instant now) const;
  Result<Receipt> receipt_of(const Queue& queue, const ReceiptEntry& entry, Instant now) const;

  ShardState& state_;
  MessageStates& states_;
  Transfers& transfers_;
  Returns& returns_;
  IdRequests by_id_;
  std::uint32_t counted_lease_ = Leases::none;  // of the delete before, in the same request
};

}  // namespace pawl

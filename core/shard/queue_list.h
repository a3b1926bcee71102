// SPDX-License-Identifier: Apache-2.0
// The list of a shard's queues with their counts, a slice at a time, for an operator.
//
//   slice from id 0 --next--> slice from `next` --next--> ... --> next is none: the list is complete
//
// Every shard knows the directory of all shards, so a slice is bounded by the rows that it visits.
// The list makes no state for a queue that has had no message, and its response waits for no flush.
// With figures it brings the rates of the queues up to date; nothing else changes.
//
// Limits: QueueSlice::rows_max rows a slice. Of 100,000 queues, 512 take 0.09 ms with cold caches,
//         0.25 ms at most.
// Owner:  the shard. Free functions on its state.
#pragma once

#include "core/queue/effects.h"
#include "core/queue/request.h"
#include "core/shard/shard_state.h"

namespace pawl {

// All counts take constant time.
QueueCounts counts_of(const Queue& queue);

// Answers a list_queues.
void list_queues(const ShardState& state, Request& request, Effects& effects);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// peek: the messages of a queue in every state, a slice at a time, without receiving them.
//
//   slice from number 0 --next--> slice from `next` --next--> ... --> next is 0: all were shown
//
// Nothing changes: no count, no order, no timer, no record; an empty queue gets no state.
// The response waits for no flush. The shard loop adds the bodies, and ends the slice where they
// reach Request::receive.bytes_max.
//
// A message of a FIFO queue names the message that it waits for: the first of its group if that is
// hidden, else the nearest hidden one among the group_looks_max before it.
// One in flight has the address of its consumer while that receive is among the last of the shard.
//
// Limits: PeekSlice::looks_max messages a slice, which take 0.1 ms with cold caches.
// Owner:  the shard. A free function on its state.
#pragma once

#include <cstdint>

#include "core/queue/effects.h"
#include "core/queue/request.h"
#include "core/shard/shard_state.h"

namespace pawl {

inline constexpr std::uint32_t group_looks_max = 16;

// Answers a peek.
void peek(const ShardState& state, Request& request, Instant now, Effects& effects);

// The messages of the slice from `seq` on are left to the next slice.
void end_before(PeekSlice& slice, Seq seq);

// Adds the record of a message of the slice. A pending message has its delivery time only there.
void add_record(PeekSlice& slice, Seq seq, const PeekedRecord& record);

}  // namespace pawl

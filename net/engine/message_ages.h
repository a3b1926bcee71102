// SPDX-License-Identifier: Apache-2.0
// The send times of the oldest messages of listed queues, from the log's memory.
//
// Owner:  the shard's thread.
#pragma once

#include "core/queue/request.h"
#include "wal/log.h"

namespace pawl {

// Sets ListedQueue::oldest_sent where the log has the record in memory; elsewhere the shard's own
// estimate stays.
void find_ages(Log& log, QueueSlice& slice);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/engine/message_ages.h"

#include "core/base/check.h"

namespace pawl {

void find_ages(Log& log, QueueSlice& slice) {
  for (ListedQueue& listed : slice.queues) {
    if (listed.position == log_pos_none || !log.in_memory(listed.position)) continue;
    CHECK(listed.oldest != 0, "a record of no message at {}", listed.position);
    const StoredMessage stored = trusted_message(log.record(listed.position), listed.config->id);
    if (stored.queue == listed.config->id && stored.seq == listed.oldest)
      listed.oldest_sent = stored.sent;
  }
}

}  // namespace pawl

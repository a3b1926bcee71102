// SPDX-License-Identifier: Apache-2.0
// The parts of a shard without the Shard, for tests of one part: a state with queues, and no log.
//
// Units:  Instant, ms; the clock starts at 1 000 000.
// Owner:  one test.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/shard/commit_queue.h"
#include "core/shard/directory_requests.h"
#include "core/shard/long_polls.h"
#include "core/shard/message_states.h"
#include "core/shard/pending.h"
#include "core/shard/reclaimer.h"
#include "core/shard/replay_tasks.h"
#include "core/shard/retention.h"
#include "core/shard/send_history.h"
#include "core/shard/shard_state.h"
#include "core/shard/transfers.h"
#include "tests/core/secret.h"

namespace pawl::test {

struct ShardParts {
  static constexpr Instant start{1'000'000};

  explicit ShardParts(const ShardLimits& limits = {})
      : state({.shards = 2, .secret = test_secret(), .receipt_key = test_receipt_key()}, limits,
              start) {}

  Queue& make_queue(const std::string& name, const std::vector<AttributeChange>& changes = {}) {
    auto config = std::make_shared<QueueConfig>();
    config->id = QueueId{++queues_made};
    config->account = "000000000000";
    config->name = name;
    for (const AttributeChange& change : changes) config->apply(change);
    directory_requests.put_config(config, start);
    return *state.find_queue(config->id);
  }
  // A visible message without a slot, at a log position of its own.
  Seq add_message(Queue& queue) {
    const Seq seq = queue.next_seq++;
    queue.index.put(seq, IndexEntry::log(1'000 + seq));
    queue.index.make_ready(seq, SeqIndex::Set::fresh);
    return seq;
  }
  // A tracked message in this state.
  std::uint32_t add_tracked(Queue& queue, Slot::State wanted) {
    const Seq seq = queue.next_seq++;
    const std::uint32_t row = states.take_slot(queue, seq, Slot::State::sent, 1'000 + seq);
    states.change_state(queue, row, wanted);
    return row;
  }

  ShardState state;
  LongPolls polls{state};
  Retention retention{state};
  MessageStates states{state, polls, retention};
  SendHistory history{state};
  Reclaimer reclaimer{state, states};
  Pending pending{state, states, retention};
  CommitQueue commits{state, polls, states, retention, pending};
  Transfers transfers{state, polls, states, commits};
  ReplayTasks replays{state};
  Schedules schedules{state};
  DirectoryRequests directory_requests{state,     polls,   states,   retention,
                                       reclaimer, replays, schedules};
  Effects effects;
  std::uint32_t queues_made = 0;
};

}  // namespace pawl::test

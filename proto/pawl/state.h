// SPDX-License-Identifier: Apache-2.0
// PawlState: the state of one call of pawl's API, used by its actions (actions.h).
//
// Owner:  the PawlCall.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/time.h"
#include "core/queue/directory.h"
#include "core/queue/request.h"
#include "proto/errors/sqs_errors.h"
#include "proto/pawl/members.h"
#include "proto/pawl/message_match.h"
#include "proto/pawl/peek_series.h"
#include "proto/pawl/statistics_series.h"
#include "proto/sqs/state.h"

namespace pawl {

struct PawlAction;

struct PawlState {
  const PawlAction* action = nullptr;  // null: unknown
  SqsState* call = nullptr;  // of the same HTTP call: the caller, the settings and the refusal
  Instant now;               // at its begin
  Members members;
  ConfigPtr queue;
  PeekSeries series;
  MessageMatch match;
  std::uint64_t limit = 0, count = 0;  // messages or queues in the response
  std::string items, scratch;
  std::string body;  // of the response

  // ExplainMessage
  std::string sought_id;     // in small letters; empty: `number` is sought
  std::uint64_t number = 0;  // 0: an id is sought
  std::optional<PeekedMessage> found;
  std::string id;                        // of the found message
  std::string more;                      // sentences on its arrival and its end
  std::optional<Instant> expires;        // the found message; none: not known
  std::optional<PeekedMessage> blocker;  // the message that it waits for

  // Replays: the request that is routed, and what it points to.
  Request request;
  ShardId request_home{};
  ReplayParams replay;
  std::string destination, filter;

  // ListQueueStatistics
  StatisticsSeries statistics;
  std::string next_token;  // the last queue of the page; empty: no page follows

  Refusal& refusal() { return call->refusal; }
  void reset();
  std::size_t memory() const;  // approximate bytes held
};

}  // namespace pawl

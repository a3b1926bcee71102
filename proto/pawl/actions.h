// SPDX-License-Identifier: Apache-2.0
// The actions of pawl's API: a row in call.cc and two functions each.
//
// The first half reads the members and returns `route`, or `respond` after a refusal or with a
// body. The second half continues after the shard. The queue of an action of one queue was found
// before, and the caller may use it.
#pragma once

#include "proto/pawl/state.h"

namespace pawl {

struct PawlAction {
  std::string_view name;
  SqsAction permission;
  std::span<const std::string_view> members;
  CallStep (*begin)(PawlState& s);
  CallStep (*resume)(PawlState& s);
  bool of_queue = true;  // QueueUrl names one
};

CallStep peek_messages(PawlState& s);
CallStep peek_messages_result(PawlState& s);
CallStep explain_message(PawlState& s);
CallStep explain_message_result(PawlState& s);
CallStep list_queue_statistics(PawlState& s);
CallStep list_queue_statistics_result(PawlState& s);

CallStep start_replay(PawlState& s);
CallStep start_replay_result(PawlState& s);
CallStep list_replays(PawlState& s);
CallStep list_replays_result(PawlState& s);
CallStep cancel_replay(PawlState& s);
CallStep cancel_replay_result(PawlState& s);

// Refuses the call with the shard's error.
CallStep refuse_peek(PawlState& s, Errc error);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// DeclaredPlan: the actions that make a server have what its configuration file declares.
//
//   rows + directory --> a fault, or
//     must_be_empty   queues that may have no message, because a change would delete some
//     phases          actions of SQS, SNS and EventBridge Scheduler; those of one phase do not
//                   depend on each other
//
// A queue or topic that has every declared value needs no action. Attributes, tags and queues that
// no row declares stay as they are: nothing is deleted. The row of a schedule is its definition: an
// absent key has its default there, but for `enabled`, so that a pause lasts.
//
// A message is sent if its queue does not exist yet. Such a queue has the tag unsent_tag until its
// messages are sent; the start after a crash deletes a queue with that tag and makes it anew.
//
// Errors: "FILE:LINE:COLUMN: ...": the key, the value, the allowed values, the remedy.
// Owner:  values; plan_declared() (declared_planner.h) makes them. The rows must outlive a plan.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/queue/directory.h"
#include "proto/declared/declared_rows.h"

namespace pawl {

// The key of a tag; its value has no meaning.
inline constexpr std::string_view unsent_tag = "pawl-declared-messages";

struct DeclaredAction {
  const DeclaredRow* row = nullptr;
  std::string where;   // for errors: the place of the row, or of the key
  bool makes = false;  // a queue, topic, subscription, schedule or group that does not exist yet
  std::string action;  // CreateQueue
  std::string body;
};

struct DeclaredCount {
  QueueId queue{};
  ShardId shard{};
  std::string fault;  // if the queue has messages
};

struct DeclaredPlan {
  std::string fault;  // the first one; empty: none
  std::vector<std::string> faults;
  std::vector<DeclaredCount> must_be_empty;
  std::vector<std::vector<DeclaredAction>> phases;
  Directory kept;       // the directory without the queues that are made anew
  Directory planned;    // as the directory will be, with other ids
  std::string summary;  // for the event of the start
};

// The phases of a plan with a fault: none, or the actions of the rows without one, for a check.
enum class FaultyPlan : bool { is_empty, keeps_phases };

}  // namespace pawl

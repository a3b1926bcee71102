// SPDX-License-Identifier: Apache-2.0
// plan_declared: the actions that make a server have what its configuration file declares.
//
//   rows + directory --> a fault, or
//     must_be_empty   queues that may have no message, because a change would delete some
//     phases          actions of SQS and SNS; those of one phase do not depend on each other
//
// A queue or topic that has every declared value needs no action. What a row does not declare stays
// as it is: nothing is deleted. A message is sent if its queue does not exist yet.
//
// Errors: "FILE:LINE:COLUMN: ...": the key, the value, the allowed values, the remedy.
// Owner:  values. It reads the directory and changes nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/queue/directory.h"
#include "proto/aws/call_types.h"
#include "proto/declared/declared_rows.h"

namespace pawl {

struct DeclaredAction {
  std::string where, subject;  // for errors: the place in the file and "queue orders"
  std::string account;         // of the caller
  bool sns = false;            // a form of SNS; else JSON of SQS
  std::string action;          // CreateQueue
  std::string body;
};

struct DeclaredCount {
  QueueId queue{};
  ShardId shard{};
  std::string fault;  // if the queue has messages
};

struct DeclaredPlan {
  std::string fault;  // empty: none
  std::vector<DeclaredCount> must_be_empty;
  std::vector<std::vector<DeclaredAction>> phases;
};

DeclaredPlan plan_declared(const DeclaredRows& rows, const Directory& directory,
                           const CallSettings& settings);

// `keys` and values as the parameters of a form.
std::string declared_form(const std::vector<std::pair<std::string, std::string>>& parameters);

}  // namespace pawl

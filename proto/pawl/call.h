// SPDX-License-Identifier: Apache-2.0
// PawlCall: an action of pawl's own API, for what SQS has no action: X-Amz-Target: Pawl.<Action>.
//
//   PeekMessages    {"QueueUrl":...,"States":["in_flight"],"MaxMessages":20,"From":7,
//                    "MessageGroupId":...,"AttributeName":...,"AttributeValue":...}
//                   {"Messages":[{"MessageId":...,"Number":7,"State":"in_flight",...}],"Next":9}
//   ExplainMessage  {"QueueUrl":...,"MessageId":...} or {"QueueUrl":...,"Number":7}
//                   {"Number":7,"State":"in_flight","Explanation":"A consumer has received it..."}
//   ListQueueStatistics  {"QueueNamePrefix":...,"MaxResults":100,"NextToken":...}
//                   {"Queues":[{"QueueName":...,"Attributes":{...},"Statistics":{...}}]}
//   StartReplay     {"QueueUrl":...,"From":...,"To":...,"MaxNumberOfMessagesPerSecond":100,
//                    "DestinationQueue":...,"FilterPolicy":...,"IncludeCopies":1}  {"Number":3}
//   ListReplays     {"QueueUrl":...}  {"Replays":[{"Number":3,"Status":"RUNNING",...}]}
//   CancelReplay    {"QueueUrl":...,"Number":3}  {"NumberOfMessagesSent":17}
//
// It is AWS's JSON protocol, signed as a call of SQS. Where a response ends before the queue does,
// the next call goes on with From and the number in Next, or with NextToken.
//
// Units:  epoch ms.
// Limits: 1,000 messages or queues and about 1 MiB a response; a call looks at 32,768 messages at
//         most.
// Errors: those of SQS, in the refusal of the SqsState.
// Owner:  the HttpCall, or the ApiCall of a binary connection. The routed requests are valid until
//         the next begin().
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "core/base/time.h"
#include "proto/aws/call_types.h"
#include "proto/sqs/state.h"

namespace pawl {

struct PawlState;

struct PawlRequest {
  std::string_view action;  // "PeekMessages"
  std::string_view body;    // a JSON object
  std::string_view path;    // it may name the queue in place of QueueUrl
  std::string_view method = "POST";
};

class PawlCall {
 public:
  static constexpr std::string_view target_prefix = "Pawl.";

  PawlCall();
  ~PawlCall();

  // `call` has the caller, the directory and the settings, and gets a refusal.
  CallStep begin(SqsState& call, const PawlRequest& asked, Instant now);
  std::span<const CallRoute> routes();
  CallStep resume();

  std::string_view action() const;  // "PeekMessages"; empty: unknown action
  std::string_view body() const;    // of a response without a refusal
  std::size_t memory() const;       // approximate bytes held

 private:
  std::unique_ptr<PawlState> state_;
  CallRoute route_;
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// SQS and pawl's own API in AWS's JSON protocol, with any action and any body.
//
// Input: one byte for the action, one for the broker's response (sqs_harness.h), then the body.
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "tests/fuzz/sqs_harness.h"

namespace {

constexpr const char* actions[] = {
    "SendMessage",
    "SendMessageBatch",
    "ReceiveMessage",
    "DeleteMessage",
    "DeleteMessageBatch",
    "ChangeMessageVisibility",
    "ChangeMessageVisibilityBatch",
    "CreateQueue",
    "DeleteQueue",
    "GetQueueUrl",
    "GetQueueAttributes",
    "SetQueueAttributes",
    "ListQueues",
    "PurgeQueue",
    "ListQueueTags",
    "TagQueue",
    "AddPermission",
    "NoSuchAction",
    "UntagQueue",
    "RemovePermission",
    "ListDeadLetterSourceQueues",
    "StartMessageMoveTask",
    "CancelMessageMoveTask",
    "ListMessageMoveTasks",
    "Pawl.PeekMessages",
    "Pawl.ExplainMessage",
    "Pawl.ListQueueStatistics",
    "Pawl.StartReplay",
    "Pawl.ListReplays",
    "Pawl.CancelReplay",
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view action = actions[data[0] % std::size(actions)];
  const bool qualified = action.contains('.');
  const std::string target = std::string(qualified ? "" : "AmazonSQS.").append(action);
  const pawl::fuzz::Body body({reinterpret_cast<const char*>(data) + 2, size - 2});
  pawl::HttpHeader headers[] = {
      {"Host",         "h:1"                       },
      {"X-Amz-Target", target                      },
      {"Content-Type", "application/x-amz-json-1.0"},
  };
  pawl::HttpRequest request;
  request.method = "POST";
  request.target = request.path = "/000000000000/q";
  request.body = body.view();
  request.set_headers(headers);
  pawl::fuzz::serve(request, data[1]);
  return 0;
}

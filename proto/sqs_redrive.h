// Dead letters in a queue's attributes: RedrivePolicy on the source, RedriveAllowPolicy on the target.
//
//   RedrivePolicy       {"deadLetterTargetArn":"arn:aws:sqs:...","maxReceiveCount":5}
//   RedriveAllowPolicy  {"redrivePermission":"byQueue","sourceQueueArns":["arn:aws:sqs:..."]}
//
// A RedrivePolicy becomes three attributes: its text, which is echoed, and the target and the count,
// which the broker goes by. Both texts are kept compact; "" takes the policy away.
//
// Limits: maxReceiveCount 1..1000; ten sourceQueueArns.
// Errors: InvalidAttributeValue, InvalidParameterValue in AWS's words.
// Owner:  free functions.
// Source: SQS API Reference, SetQueueAttributes; SQS Developer Guide, "Dead-letter queues".
#pragma once

#include <string_view>
#include <vector>

#include "core/directory.h"
#include "core/queue_config.h"
#include "proto/sqs_errors.h"

namespace pawl {

// The queue that attributes are given to.
struct AttributeSubject {
  const Directory& directory;  // where dead-letter targets are looked for
  std::string_view account, name;
  bool fifo = false;
  const QueueConfig* queue = nullptr;  // as it is; null when it is to be made
};

[[nodiscard]] bool read_redrive_policy(std::string_view value, const AttributeSubject& of,
                                       std::vector<AttributeChange>& out, Refusal& refusal);

[[nodiscard]] bool read_redrive_allow_policy(std::string_view value,
                                             std::vector<AttributeChange>& out, Refusal& refusal);

// Whether the target lets the queue of that account and name dead-letter to it.
bool allows_source(const QueueConfig& target, std::string_view account, std::string_view name);

}  // namespace pawl

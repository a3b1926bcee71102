// SPDX-License-Identifier: Apache-2.0
// Dead-letter attributes: RedrivePolicy on the source queue, RedriveAllowPolicy on the target.
//
//   RedrivePolicy       {"deadLetterTargetArn":"arn:aws:sqs:...","maxReceiveCount":5}
//   RedriveAllowPolicy  {"redrivePermission":"byQueue","sourceQueueArns":["arn:aws:sqs:..."]}
//
// A RedrivePolicy becomes three attributes: its text, which is echoed, and target and count, which
// the broker uses. Both policies are stored as compact JSON; "" unsets the policy.
//
// Limits: maxReceiveCount 1..1000; ten sourceQueueArns.
// Errors: InvalidAttributeValue, InvalidParameterValue in AWS's words.
// Owner:  free functions.
// Source: SQS API Reference, SetQueueAttributes; SQS Developer Guide, "Dead-letter queues".
#pragma once

#include <string_view>
#include <vector>

#include "core/queue/directory.h"
#include "core/queue/queue_config.h"
#include "proto/errors/sqs_errors.h"

namespace pawl {

// The queue whose attributes are set.
struct AttributeSubject {
  const Directory& directory;  // for the lookup of dead-letter targets
  std::string_view account, name;
  bool fifo = false;
  const QueueConfig* queue = nullptr;  // the current config; null before creation
};

[[nodiscard]] bool read_redrive_policy(std::string_view value, const AttributeSubject& of,
                                       std::vector<AttributeChange>& out, Refusal& refusal);

[[nodiscard]] bool read_redrive_allow_policy(std::string_view value,
                                             std::vector<AttributeChange>& out, Refusal& refusal);

// True if the target accepts dead letters of the queue with that account and name.
bool allows_source(const QueueConfig& target, std::string_view account, std::string_view name);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// ARNs of queues: arn:aws:sqs:<region>:<account>:<name>.
//
// One broker is one region: the region of an ARN is ignored, account and name identify the queue.
//
// Owner:  the parts point into the text.
// Source: IAM User Guide, "Amazon Resource Names"; SQS API Reference.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/queue/directory.h"

namespace pawl {

struct SqsArn {
  std::string_view service, region, account, name;
};

// Parses the six parts; only region and account may be empty. The service is not checked.
std::optional<SqsArn> parse_arn(std::string_view text);

std::string arn_of(std::string_view region, std::string_view account, std::string_view name);

// The queue with that ARN; null if there is none.
const ConfigPtr* find_queue(const Directory& directory, const SqsArn& arn);

}  // namespace pawl

// ARNs of queues: arn:aws:sqs:<region>:<account>:<name>.
//
// A broker is one region to itself: whatever region an ARN names, the account and the name decide.
//
// Owner:  the parts point into the text.
// Source: IAM User Guide, "Amazon Resource Names"; SQS API Reference.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/directory.h"

namespace pawl {

struct SqsArn {
  std::string_view service, region, account, name;
};

// Six parts, none empty but perhaps region and account. What the service is, is not looked at.
std::optional<SqsArn> parse_arn(std::string_view text);

std::string arn_of(std::string_view region, std::string_view account, std::string_view name);

// The queue of that ARN; null when there is none.
const ConfigPtr* find_queue(const Directory& directory, const SqsArn& arn);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// The rules for one tag of a queue or topic, in every protocol.
//
// Limits: tags_max a queue; 128 characters a key, 256 a value; not beginning with "aws:".
// Errors: InvalidParameterValue.
// Owner:  a free function.
// Source: SQS Developer Guide, "Amazon SQS cost allocation tags".
#pragma once

#include <cstddef>
#include <string_view>

#include "core/queue/queue_config.h"
#include "proto/errors/sqs_errors.h"

namespace pawl {

inline constexpr std::size_t tags_max = 50;  // tags of one queue

[[nodiscard]] bool check_tag(std::string_view key, std::string_view value, Refusal& refusal);

// Adds the tag, or replaces the value of its key.
void put_tag(Tags& tags, std::string_view key, std::string_view value);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// The filter of a replay task: an SNS filter policy, as in subscriptions.
//
// Errors: null if the text is not a valid policy.
// Source: proto/sns/filter_policy.h.
#pragma once

#include <memory>
#include <string_view>

#include "net/engine/replayer.h"

namespace pawl {

std::unique_ptr<MessageFilter> filter_by_policy(std::string_view text);

}  // namespace pawl

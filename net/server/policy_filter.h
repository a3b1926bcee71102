// A replay task's filter: a filter policy, as a topic's subscriptions have it.
//
// Errors: null if the text is no policy.
// Source: proto/filter_policy.h.
#pragma once

#include <memory>
#include <string_view>

#include "net/engine/replayer.h"

namespace pawl {

std::unique_ptr<MessageFilter> filter_by_policy(std::string_view text);

}  // namespace pawl

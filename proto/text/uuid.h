// SPDX-License-Identifier: Apache-2.0
// UUIDs as text: ids of messages and of subscriptions.
//
// Errors: nothing: another form, or all zeros.
// Owner:  a free function. uuid_text() of core/queue/receipt.h is the way back.
// Source: RFC 9562, section 4.
#pragma once

#include <optional>
#include <string_view>

#include "core/base/ids.h"

namespace pawl {

// The id in the form 8-4-4-4-12, in hex digits of either case.
std::optional<MessageId> parse_uuid(std::string_view text);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// The confirmation of a verb that destroys messages: --yes, or their number typed on a terminal.
//
// Errors: to stderr.
// Owner:  one verb.
#pragma once

#include <cstdint>
#include <string_view>

#include "tools/command_line.h"

namespace pawl {

// --yes
void add_confirmation(Verb verb, bool& yes);

// True: the user agrees that `messages` messages of the queue are deleted.
bool is_confirmed(bool yes, std::string_view queue, std::int64_t messages);

}  // namespace pawl

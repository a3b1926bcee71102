// SPDX-License-Identifier: Apache-2.0
// The confirmation of a verb that destroys messages or subscriptions: --yes, or their number typed
// on a terminal.
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

// `count` things of a queue or a topic, and the thing that has them, as "queue \"orders\"".
struct Destroyed {
  std::string_view owner;
  std::int64_t count = 0;
  std::string_view things;  // "messages"
};

// True: the user agrees that they are deleted.
bool is_confirmed(bool yes, const Destroyed& destroyed);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Mistakes in the settings of queues, each with the command that mends it.
//
// Units:  seconds.
// Errors: none.
// Owner:  values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/queue_view.h"

namespace pawl {

struct QueueFinding {
  std::string queue;
  std::string_view check;  // its name, such as "short-polls"
  std::string finding;     // a sentence
  std::string command;     // for a shell; empty: no setting mends it
};

// `readings`: all queues of the account, in any order. `options`: those that each command needs to
// reach the endpoint, or empty. In order of the queues, for each in order of the checks.
std::vector<QueueFinding> findings_of(const std::vector<QueueReading>& readings,
                                      std::string_view options);

// The names of the checks, and of those that need figures of a pawl server.
const std::vector<std::string_view>& queue_checks();
const std::vector<std::string_view>& checks_of_figures();

// The word as one word of a shell.
std::string shell_word(std::string_view word);

}  // namespace pawl

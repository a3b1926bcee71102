// SPDX-License-Identifier: Apache-2.0
// `pawl check queues`: mistakes in the settings of queues.
//
// Errors: to stderr; exit codes of command_line.h.
// Owner:  add_check_command.
#pragma once

#include "tools/command_line.h"

namespace pawl {

void add_check_queues(Verb check);

}  // namespace pawl

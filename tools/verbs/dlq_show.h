// SPDX-License-Identifier: Apache-2.0
// `pawl dlq show`: the messages of a dead-letter queue, with the time and the reason of their move.
//
// Errors: to stderr.
// Owner:  the command line.
#pragma once

#include "tools/command_line.h"

namespace pawl {

void add_dlq_show(Verb dlq);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// `pawl queue apply FILE`: gives a running server the queues that a configuration file declares.
//
// Errors: to stderr. Nothing is changed if a table has a fault, or if messages would be deleted.
// Owner:  one verb.
#pragma once

#include "tools/command_line.h"

namespace pawl {

// Adds `apply` to `pawl queue`.
void add_queue_apply(Verb queue);

}  // namespace pawl

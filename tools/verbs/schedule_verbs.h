// SPDX-License-Identifier: Apache-2.0
// `pawl schedule create|ls|pause|resume|run-now|rm`: the schedules of a running server.
//
// Errors: to stderr.
// Owner:  one verb.
#pragma once

#include "tools/command_line.h"

namespace pawl {

// Adds them to `pawl schedule`.
void add_schedule_verbs(Verb schedule);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// `pawl wal repair`: plans the repair of every log of a data directory, and does it if `apply` is
// true, holding the directory's lock.
//
// Errors: to stderr; returns the exit code (tools/command_line.h).
#pragma once

#include <string>

namespace pawl {

int repair_logs(const std::string& data_dir, bool apply);

}  // namespace pawl

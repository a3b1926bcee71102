// `pawl wal repair`: every log of a data directory, under its lock.
//
// Errors: to stderr; the answer is the exit code (tools/commands.h).
#pragma once

#include <string>

namespace pawl {

int repair_logs(const std::string& data_dir, bool apply);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Doctor: checks this machine, container and disk for obstacles to pawl, and names the remedies.
//
// examine() checks and measures; it leaves nothing behind, also after an error or a signal: see
// tools/doctor/log_writes.h.
//
// Units:  seconds, bytes, microseconds as named.
// Limits: DoctorOptions::disk_seconds, and at most 2 s to prepare; longer only on a disk that
//         takes 50 ms a write.
// Errors: none: an impossible check is reported as a Finding.
// Owner:  the only thread of its process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "tools/doctor/finding.h"

namespace pawl {

struct DoctorOptions {
  std::string data = "./pawl-data";  // if it does not exist: the nearest directory above it
  // Time for measuring: a third for bare writes, the rest for the log's. 0: do not measure.
  double disk_seconds = 3;
  unsigned shards = 0;       // 0: as many as cores
  std::uint64_t memory = 0;  // --memory of the server; 0: not given
  std::string root = {};     // prefix of /proc and /sys, for simulated machines in tests
};

std::vector<Finding> examine(const DoctorOptions& options);

// The finding `log writes`, after an error of measure_log_writes().
Finding not_measured(const Error& error);

}  // namespace pawl

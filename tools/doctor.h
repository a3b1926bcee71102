// SPDX-License-Identifier: Apache-2.0
// Doctor: checks this machine, container and disk for obstacles to pawl, and names the remedies.
//
// examine() checks and measures; it changes nothing (its probe files in the data directory are
// unlinked at once).
//
// Units:  seconds, bytes, microseconds as named.
// Errors: none: an impossible check is reported as a Finding.
// Owner:  any thread; blocks for about DoctorOptions::disk_seconds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/finding.h"

namespace pawl {

struct DoctorOptions {
  std::string data = "./pawl-data";  // if it does not exist: the nearest directory above it
  double disk_seconds = 2;           // time for measuring; 0: do not measure
  unsigned shards = 0;               // 0: as many as cores
  std::string root = {};             // prefix of /proc and /sys, for simulated machines in tests
};

std::vector<Finding> examine(const DoctorOptions& options);

// The cgroup's quota in CPUs; nothing without a quota.
std::optional<double> cpu_quota(const std::string& root = {});

}  // namespace pawl

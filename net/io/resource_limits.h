// SPDX-License-Identifier: Apache-2.0
// The memory and the CPU time that this process may use: limits of control groups, from its own to
// the top, of versions 1 and 2.
//
// Units:  bytes, CPUs.
// Limits: a group above the mount of a container is not visible in version 2; in version 1 its
//         memory limit is (memory.stat).
// Errors: none: an unreadable file sets no limit.
// Owner:  any thread; no state.
// Source: the kernel's Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pawl {

// The smallest limit of all groups, and the directory of the group that sets it.
struct GroupMemory {
  std::uint64_t bytes = UINT64_MAX;  // memory.max or memory.high; UINT64_MAX: no limit
  std::string group;
};
struct GroupCpus {
  double cpus = 0;  // time a period; 0: no limit
  std::string group;
};
// `root`: prefix of /proc and /sys, for simulated machines in tests.
GroupMemory group_memory(const std::string& root = {});
GroupCpus group_cpus(const std::string& root = {});

// The memory of the machine, of its groups or the address space (RLIMIT_AS), whichever is least.
std::uint64_t usable_memory();

// The directories of the process's groups with the given controller, its own first, then the groups
// above it. `version`: 1 or 2.
std::vector<std::string> group_directories(const std::string& root, std::string_view controller,
                                           int version);

}  // namespace pawl

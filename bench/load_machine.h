// SPDX-License-Identifier: Apache-2.0
// The machine of a measurement, so that results of different machines are not mistaken for another.
//
// Units:  bytes.
// Errors: none: an unknown fact is empty or 0.
// Owner:  any thread; no state.
#pragma once

#include <cstdint>
#include <string>

namespace pawl::load {

struct MachineFacts {
  std::string cpu;      // model name; where there is none, as on arm64: the architecture
  unsigned cores = 0;   // online
  unsigned usable = 0;  // online cores that this process may use
  std::string kernel;
  std::uint64_t memory_bytes = 0;
  std::string file_system;  // of the data directory: "ext4 on /dev/vda"; empty: not local
};

// `data`: a directory; empty: none. `root`: prefix of /proc and /sys, for tests.
MachineFacts machine_facts(const std::string& data, const std::string& root = {});

// The mount of a directory in the text of /proc/self/mounts: "ext4 on /dev/vda"; empty: none.
std::string mount_of(const std::string& directory, const std::string& mounts);

}  // namespace pawl::load

// SPDX-License-Identifier: Apache-2.0
// Checks of process limits that a server needs, before it writes anything to the disk.
//
// Units:  bytes.
// Errors: a text for the operator: the limit, its value, the need, the remedy.
// Owner:  Server::start(), before other threads run.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

namespace pawl {

// Smallest address space (RLIMIT_AS) for a server with `shards` shards.
constexpr std::uint64_t address_space_min(unsigned shards) {
  return (std::uint64_t{128} + std::uint64_t{64} * shards) << 20;
}

// Most open descriptors of a shard's log (`files_max`: RLIMIT_NOFILE). Three quarters of all are
// for connections; rings, directories and listeners need some too.
constexpr std::uint32_t log_descriptors(std::uint64_t files_max, unsigned shards) {
  constexpr std::uint64_t least = 8, most = 1 << 20;
  const std::uint64_t others = 16 + std::uint64_t{4} * shards;
  const std::uint64_t quarter = files_max / 4;
  const std::uint64_t share = (quarter - (quarter < others ? quarter : others)) / shards;
  return static_cast<std::uint32_t>(share < least ? least : share > most ? most : share);
}

// Makes the kernel's table of descriptors large enough for `files_max`, 65,536 at most (0.5 MiB).
// It grows by doubling, and once there are threads each step waits for all processors, in the shard
// that accepts a connection. On a resting machine the longest wait was 0.3 ms. Call it while there
// is one thread.
void reserve_descriptors(std::uint64_t files_max);

// Checks the address space limit against `memory` (--memory; 0: not given), and starts and ends as
// many threads as the server will have.
std::expected<void, std::string> check_process_limits(unsigned shards, std::uint64_t memory);

// How a server divides the memory that it may use. The rest is for rings, tables, the page cache
// and what the allocator keeps.
struct MemoryShares {
  std::uint64_t messages = 0;     // the default of --memory
  std::uint64_t connections = 0;  // for the buffers of a shard's connections, at least
};
MemoryShares memory_shares(std::uint64_t usable, unsigned shards);
// The most that a server takes with `memory` for messages.
std::uint64_t memory_needed(std::uint64_t memory, std::uint64_t usable, unsigned shards);

// Emits a warning if a server with this --memory (0: not given) may need more than a control group
// allows, so that the kernel may end the process.
void warn_of_group_memory(std::uint64_t memory, unsigned shards);

// The CPUs on which this process may run. Empty: the kernel does not tell.
std::vector<int> allowed_cpus();

}  // namespace pawl

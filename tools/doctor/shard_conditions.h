// SPDX-License-Identifier: Apache-2.0
// ShardConditions: the conditions that a shard wants, and whether this machine allows them. Each is
// a Finding with `allowed`, the consequence and the remedy.
//
// A condition is examined by one function and judged by another, so that tests can judge machines
// that are not there.
//
// Units:  bytes.
// Errors: none: an impossible check is reported as a Finding, or absent where the machine shows
//         nothing.
// Owner:  any thread. A test file in the directory is unlinked at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "net/io/ring.h"
#include "tools/doctor/finding.h"

namespace pawl {

// --- io_uring ---

struct RingAbilities {
  int error = 0;  // errno of a ring with a shard's flags; 0: it can be made
  const char* refused = Ring::setup_call;  // the call or operation of that errno
  int buffers_error = 0;                   // the same for the ring with its receive buffers
  std::uint32_t features = 0;              // IORING_FEAT_*
  std::vector<bool> operations = {};       // supported ones, by IORING_OP_*
};
RingAbilities ring_abilities();
Finding check_ring(const RingAbilities& abilities, const std::string& root);
Finding check_ring_features(const RingAbilities& abilities);

// --- limits of the process ---

// CAP_IPC_LOCK lifts RLIMIT_MEMLOCK. Root lacks it in many containers, and in a user namespace the
// kernel ignores it.
bool has_ipc_lock(const std::string& root);
// `limit`: of RLIMIT_MEMLOCK.
Finding check_memlock(unsigned shards, std::uint64_t limit, bool has_ipc_lock);
// The limit that the server sets for itself, the hard one of RLIMIT_NOFILE.
std::uint64_t descriptor_limit();
Finding check_files(unsigned shards, std::uint64_t limit);

// --- the directory and its device ---

struct FileAbilities {
  int error = 0;  // errno of creating a file; the others are unknown then
  int direct_error = 0;
  int allocate_error = 0;
};
FileAbilities file_abilities(const std::string& directory);
std::vector<Finding> check_file_abilities(const FileAbilities& abilities);

struct BlockDevice {
  std::string number;       // "254:0"
  std::string write_cache;  // as sysfs shows it, for example "write back"
  bool has_fua = false;
  bool is_write_through() const { return write_cache == "write through"; }
};
// Nothing: the directory has no block device in sysfs, as on a network file system.
std::optional<BlockDevice> block_device(const std::string& directory, const std::string& root);
Finding check_device(const BlockDevice& device);
Finding check_fua(const BlockDevice& device);

// --- CPUs and memory ---

// The errno of binding the calling thread to this CPU; it is unbound again. 0: it worked.
int pinning_error(int cpu);
Finding check_pinning(unsigned shards, unsigned cpus, int error);
Finding check_huge_pages(const std::string& root);

}  // namespace pawl

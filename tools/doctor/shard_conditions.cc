// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/shard_conditions.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <liburing.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string_view>

#include "core/base/check.h"
#include "net/io/ring.h"
#include "net/io/ring_choice.h"
#include "net/io/system_file.h"
#include "net/server/machine.h"
#include "net/server/process_limits.h"
#include "tools/doctor/ring_memory.h"
#include "wal/format/disk.h"
#include "wal/image.h"

namespace pawl {
namespace {

using Status = Finding::Status;

// Locked memory of one shard's ring (1024 + 8192 entries), measured on 6.18.
constexpr std::uint64_t ring_locked_bytes = 256 << 10;
constexpr std::uint64_t files_wanted = 10'240;  // three quarters of it are for connections
constexpr off_t allocated_bytes = 1 << 20;

struct Named {
  unsigned value;
  const char* name;
};

constexpr Named features_needed[] = {
    {IORING_FEAT_NODROP,   "NODROP"  },
    {IORING_FEAT_EXT_ARG,  "EXT_ARG" },
    {IORING_FEAT_CQE_SKIP, "CQE_SKIP"}
};

constexpr Named operations_needed[] = {
    {IORING_OP_WRITE,        "WRITE"       },
    {IORING_OP_FSYNC,        "FSYNC"       },
    {IORING_OP_READ,         "READ"        },
    {IORING_OP_FALLOCATE,    "FALLOCATE"   },
    {IORING_OP_UNLINKAT,     "UNLINKAT"    },
    {IORING_OP_TIMEOUT,      "TIMEOUT"     },
    {IORING_OP_POLL_ADD,     "POLL_ADD"    },
    {IORING_OP_ACCEPT,       "ACCEPT"      },
    {IORING_OP_RECV,         "RECV"        },
    {IORING_OP_SEND,         "SEND"        },
    {IORING_OP_ASYNC_CANCEL, "ASYNC_CANCEL"},
    {IORING_OP_MSG_RING,     "MSG_RING"    }
};

Finding allowed(const char* name, std::string what) {
  return {name, Status::ok, std::move(what), "", true};
}
// Absent or not used: nothing forbids it, and that is no obstacle.
Finding unneeded(const char* name, std::string what) {
  return {name, Status::ok, std::move(what), "", false};
}
Finding refused(const char* name, std::string what, std::string remedy) {
  return {name, Status::warn, std::move(what), std::move(remedy), false};
}

// With --io auto, the default, threads take its place.
Status without_ring(int error) { return is_refusal(error) ? Status::warn : Status::fail; }
const char* instead(int error) {
  return is_refusal(error) ? "; `pawl serve` runs with threads instead, which is slower" : "";
}

std::string missing_of(const RingAbilities& abilities) {
  std::string missing;
  for (const auto& [bit, name] : features_needed)
    if ((abilities.features & bit) == 0) missing += fmt::format(" {}", name);
  for (const auto& [operation, name] : operations_needed)
    if (operation >= abilities.operations.size() || !abilities.operations[operation])
      missing += fmt::format(" {}", name);
  return missing;
}

// The kernel's operations, by IORING_OP_*. The ring itself is asked: io_uring_get_probe() makes a
// second one, for which the limit of locked memory may have no space.
std::vector<bool> operations_of(const Ring& ring) {
  constexpr unsigned most = 256;
  const std::unique_ptr<io_uring_probe, decltype(&std::free)> probe(
      static_cast<io_uring_probe*>(
          std::calloc(1, sizeof(io_uring_probe) + most * sizeof(io_uring_probe_op))),
      std::free);
  CHECK(probe != nullptr, "no memory");
  if (syscall(__NR_io_uring_register, ring.fd(), IORING_REGISTER_PROBE, probe.get(), most) != 0)
    return {};
  std::vector<bool> operations;
  for (int operation = 0; operation <= probe->last_op; ++operation)
    operations.push_back(io_uring_opcode_supported(probe.get(), operation) != 0);
  return operations;
}

constexpr const char* raise_memlock =
    "Raise it: `ulimit -l unlimited`, or LimitMEMLOCK=infinity in the systemd unit.";

}  // namespace

// --- io_uring ---

RingAbilities ring_abilities() {
  RingAbilities abilities;
  const auto ring = after_closed_rings([] { return Ring::create(); });
  if (!ring) {
    const bool is_setup = ring.error().what == std::string_view(Ring::setup_call);
    (is_setup ? abilities.error : abilities.buffers_error) = ring.error().sys;
    return abilities;
  }
  if (const auto works = probe_operations(**ring); !works) {
    abilities.error = works.error().sys;
    abilities.refused = works.error().what;
    return abilities;
  }
  abilities.features = (*ring)->features();
  abilities.operations = operations_of(**ring);
  return abilities;
}

Finding check_ring(const RingAbilities& abilities, const std::string& root) {
  if (abilities.error == 0)
    return allowed("io_uring", "a ring with SINGLE_ISSUER and DEFER_TASKRUN can be made");
  const std::string text =
      explain_ring_error({Errc::io, abilities.error, abilities.refused}, ring_surroundings(root));
  const std::size_t split = text.find(". ");
  return {"io_uring", without_ring(abilities.error),
          text.substr(0, split) + instead(abilities.error),
          split == text.npos ? "" : text.substr(split + 2), false};
}

Finding check_ring_features(const RingAbilities& abilities) {
  constexpr const char* name = "ring features";
  if (abilities.error != 0) return refused(name, "no ring can be made", "See io_uring.");
  if (abilities.buffers_error == ENOMEM)
    return {name, Status::fail,
            fmt::format("the receive buffers of a ring do not fit RLIMIT_MEMLOCK, {}",
                        amount_text(process_limit(RLIMIT_MEMLOCK))),
            raise_memlock, false};
  if (abilities.buffers_error != 0)
    return {name, without_ring(abilities.buffers_error),
            fmt::format("a ring with receive buffers: {}{}", std::strerror(abilities.buffers_error),
                        instead(abilities.buffers_error)),
            "Use kernel 6.1 or newer, and a seccomp profile that allows io_uring_register.", false};
  if (const std::string missing = missing_of(abilities); !missing.empty())
    return {name, Status::fail,
            fmt::format("the kernel lacks{}: the server stops at its first use", missing),
            "Use kernel 6.1 or newer.", false};
  return allowed(name, fmt::format("receive buffers, {} features and {} operations of a shard",
                                   std::size(features_needed), std::size(operations_needed)));
}

// --- limits of the process ---

bool has_ipc_lock(const std::string& root) {
  const std::string text = line_after(text_of_file(root + "/proc/self/status"), "CapEff:");
  std::uint64_t capabilities = 0;
  std::from_chars(text.data(), text.data() + text.size(), capabilities, 16);
  std::istringstream users(text_of_file(root + "/proc/self/uid_map"));
  std::uint64_t inside = 1, outside = 1, count = 0;
  users >> inside >> outside >> count;
  const bool is_initial = inside == 0 && outside == 0 && count == UINT32_MAX;
  return is_initial && (capabilities >> CAP_IPC_LOCK & 1) != 0;
}

Finding check_memlock(unsigned shards, std::uint64_t limit, bool has_ipc_lock) {
  constexpr const char* name = "locked memory";
  const std::uint64_t wanted = shards * ring_locked_bytes;
  if (has_ipc_lock) return allowed(name, "not limited: the process has CAP_IPC_LOCK");
  const std::string what = fmt::format("{} shards need {} for their rings, RLIMIT_MEMLOCK is {}",
                                       shards, amount_text(wanted), amount_text(limit));
  return limit >= wanted ? allowed(name, what) : refused(name, what, raise_memlock);
}

std::uint64_t descriptor_limit() {
  rlimit value{};
  if (getrlimit(RLIMIT_NOFILE, &value) != 0) return 0;
  return value.rlim_max == RLIM_INFINITY ? UINT64_MAX : value.rlim_max;
}

Finding check_files(unsigned shards, std::uint64_t limit) {
  constexpr const char* name = "open files";
  const std::string what =
      fmt::format("{}: {} for connections, {} for the log of each of {} shards", limit,
                  limit - limit / 4, log_descriptors(limit, shards), shards);
  if (limit >= files_wanted) return allowed(name, what);
  return refused(name, what,
                 fmt::format("Raise it: `ulimit -n {}`, or LimitNOFILE={} in the systemd unit.",
                             files_wanted, files_wanted));
}

// --- the directory and its device ---

FileAbilities file_abilities(const std::string& directory) {
  FileAbilities abilities;
  std::string path = directory + "/.pawl-doctor-XXXXXX";
  const int file = mkostemp(path.data(), O_CLOEXEC);
  if (file < 0) {
    abilities.error = errno;
    return abilities;
  }
  const int direct = ::open(path.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC);
  if (direct < 0) abilities.direct_error = errno;
  unlink(path.c_str());
  if (fallocate(file, FALLOC_FL_KEEP_SIZE, 0, allocated_bytes) != 0)
    abilities.allocate_error = errno;
  if (direct >= 0) {
    PageBlock block(block_bytes);
    std::memset(block.data(), 0, block.size());
    if (pwrite(direct, block.data(), block.size(), 0) < 0) abilities.direct_error = errno;
    close(direct);
  }
  close(file);
  return abilities;
}

std::vector<Finding> check_file_abilities(const FileAbilities& abilities) {
  constexpr const char* direct = "O_DIRECT";
  constexpr const char* allocate = "preallocation";
  if (abilities.error != 0)
    return {refused(direct, "no file can be created", "See filesystem."),
            refused(allocate, "no file can be created", "See filesystem.")};
  std::vector<Finding> found;
  if (abilities.direct_error == 0)
    found.push_back(allowed(direct, "the log bypasses the page cache, in blocks of 4 KiB"));
  else
    found.push_back(refused(
        direct,
        fmt::format("{}: the log goes through the page cache, which holds its bodies a second time",
                    std::strerror(abilities.direct_error)),
        "Put the data directory on ext4 or xfs, on a drive with blocks of at most 4 KiB."));
  if (abilities.allocate_error == 0)
    found.push_back(allowed(allocate, "a segment has its space before the log enters it"));
  else
    found.push_back(
        refused(allocate,
                fmt::format("{}: a segment is filled with zeros before the log enters it, and a "
                            "burst waits for that",
                            std::strerror(abilities.allocate_error)),
                "Put the data directory on ext4 or xfs, with free space."));
  return found;
}

std::optional<BlockDevice> block_device(const std::string& directory, const std::string& root) {
  struct stat about{};
  if (stat(directory.c_str(), &about) != 0) return std::nullopt;
  const std::string number = fmt::format("{}:{}", major(about.st_dev), minor(about.st_dev));
  const std::string device = fmt::format("{}/sys/dev/block/{}", root, number);
  for (const char* queue : {"/queue/", "/../queue/"}) {  // a partition uses its parent's queue
    const std::string cache = text_of_file(device + queue + "write_cache");
    if (!cache.empty())
      return BlockDevice{number, cache, text_of_file(device + queue + "fua") == "1"};
  }
  return std::nullopt;
}

Finding check_device(const BlockDevice& device) {
  return {"block device", Status::ok,
          fmt::format("{} cache {}, fua {}: {}", device.number, device.write_cache,
                      device.has_fua ? 1 : 0,
                      device.is_write_through() ? "a finished write is durable"
                      : device.has_fua          ? "a write can be made durable by itself"
                                                : "every durable write takes a flush"),
          ""};
}

Finding check_fua(const BlockDevice& device) {
  constexpr const char* name = "FUA";
  if (device.is_write_through())
    return unneeded(name, "not needed: the device has no volatile cache");
  if (device.has_fua)
    return allowed(name, "a write can be durable without a flush of the device's whole cache");
  return unneeded(
      name,
      "absent: a flush of the device's whole cache is linked to each durable write, as on most "
      "virtual machines; a drive with power-loss protection makes it cheap");
}

// --- CPUs and memory ---

int pinning_error(int cpu) {
  cpu_set_t before, one;
  if (sched_getaffinity(0, sizeof before, &before) != 0) return errno;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(cpu), &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) return errno;
  sched_setaffinity(0, sizeof before, &before);
  return 0;
}

Finding check_pinning(unsigned shards, unsigned cpus, int error) {
  constexpr const char* name = "thread pinning";
  if (error != 0)
    return refused(name,
                   fmt::format("{}: the kernel may move a shard's thread away from its caches, and "
                               "two to one CPU",
                               std::strerror(error)),
                   "Allow sched_setaffinity in the seccomp profile of the container.");
  if (shards <= cpus)
    return allowed(name, fmt::format("each of {} shards has its own of {} CPUs", shards, cpus));
  return {
      name, Status::warn,
      fmt::format("{} shards share {} CPUs: their threads are not pinned, and --poll auto never "
                  "spins",
                  shards, cpus),
      fmt::format("Give the process {} CPUs, or make the data directory with --shards {}.", shards,
                  cpus),
      true};
}

Finding check_huge_pages(const std::string& root) {
  constexpr const char* name = "huge pages";
  const std::string modes = text_of_file(root + "/sys/kernel/mm/transparent_hugepage/enabled");
  if (modes.find("[always]") != modes.npos)
    return {name, Status::warn,
            "for all memory: tables of messages and connections may take more memory than is "
            "counted, and a first touch takes milliseconds; the log declines them",
            "`echo madvise > /sys/kernel/mm/transparent_hugepage/enabled`", true};
  if (modes.find("[madvise]") != modes.npos) return allowed(name, "on request; pawl requests none");
  if (std::error_code ignored; !std::filesystem::exists(root + "/sys/kernel/mm", ignored))
    return unneeded(name, "unknown: /sys is hidden");
  return unneeded(name, "not used: pawl requests none");
}

}  // namespace pawl

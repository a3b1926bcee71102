// SPDX-License-Identifier: Apache-2.0
#include "net/server/process_limits.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <latch>
#include <vector>

#include "net/events/event_log.h"
#include "net/io/resource_limits.h"

namespace pawl {
namespace {

constexpr unsigned other_threads = 3;  // StartWatch, the writer of the event log, and a spare

// For the buffers of a shard's connections; a large --memory gives them more.
constexpr std::uint64_t connections_memory_least = std::uint64_t{16} << 20;
constexpr std::uint64_t connections_memory_most = std::uint64_t{64} << 20;

// All but the messages: the program, rings with their receive buffers, tables, the buffers of
// connections, and freed buffers that the allocator keeps.
std::uint64_t memory_of_others(std::uint64_t connections, unsigned shards) {
  constexpr std::uint64_t program = std::uint64_t{24} << 20, shard = std::uint64_t{12} << 20;
  return program + shards * (shard + connections + connections / 2);
}

std::uint64_t mebibytes(std::uint64_t bytes) { return bytes >> 20; }

std::expected<void, std::string> check_address_space(unsigned shards, std::uint64_t memory) {
  rlimit space{};
  if (getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur == RLIM_INFINITY) return {};
  const std::uint64_t least = address_space_min(shards);
  if (space.rlim_cur < least) {
    return std::unexpected(fmt::format(
        "the limit of address space is {} MiB, and {} {} MiB. Raise it: `ulimit -v "
        "unlimited`, or LimitAS=infinity in the systemd unit",
        mebibytes(space.rlim_cur),
        shards == 1 ? "1 shard needs" : fmt::format("{} shards need", shards), mebibytes(least)));
  }
  if (memory > space.rlim_cur - least) {
    return std::unexpected(fmt::format(
        "--memory is {} MiB, and a limit of address space of {} MiB leaves {} MiB for it. Raise "
        "the limit (`ulimit -v unlimited`, LimitAS=infinity), or lower --memory",
        mebibytes(memory), mebibytes(space.rlim_cur), mebibytes(space.rlim_cur - least)));
  }
  return {};
}

void* wait_for_end(void* end) {
  static_cast<std::latch*>(end)->wait();
  return nullptr;
}

std::expected<void, std::string> check_threads(unsigned count) {
  std::latch end(1);
  std::vector<pthread_t> threads;
  int error = 0;
  while (threads.size() < count && error == 0) {
    pthread_t thread{};
    error = pthread_create(&thread, nullptr, wait_for_end, &end);
    if (error == 0) threads.push_back(thread);
  }
  end.count_down();
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  if (error == 0) return {};
  rlimit processes{};
  getrlimit(RLIMIT_NPROC, &processes);
  return std::unexpected(fmt::format(
      "cannot start {} threads, only {}: {}. The limit of processes of this user is {}; raise it "
      "(`ulimit -u`, LimitNPROC= and TasksMax= in the systemd unit, --pids-limit of a container), "
      "or make the data directory with fewer --shards",
      count, threads.size(), std::strerror(error),
      processes.rlim_cur == RLIM_INFINITY ? "none" : fmt::format("{}", processes.rlim_cur)));
}

}  // namespace

void reserve_descriptors(std::uint64_t files_max) {
  constexpr std::uint64_t most = 1 << 16;
  const int last = static_cast<int>(std::min(files_max, most)) - 1;
  const int any = ::open("/", O_PATH | O_CLOEXEC);
  if (any < 0) return;
  const int highest = fcntl(any, F_DUPFD_CLOEXEC, last);
  if (highest >= 0) ::close(highest);
  ::close(any);
}

std::expected<void, std::string> check_process_limits(unsigned shards, std::uint64_t memory) {
  if (auto space = check_address_space(shards, memory); !space) return space;
  return check_threads(shards + other_threads);
}

MemoryShares memory_shares(std::uint64_t usable, unsigned shards) {
  const std::uint64_t connections = std::clamp(usable / (std::uint64_t{6} * shards),
                                               connections_memory_least, connections_memory_most);
  const std::uint64_t others = memory_of_others(connections, shards);
  const std::uint64_t fits = usable > others ? (usable - others) / 6 * 5 : 0;
  return {std::max(usable / 8, std::min(usable / 2, fits)), connections};
}

std::uint64_t memory_needed(std::uint64_t memory, std::uint64_t usable, unsigned shards) {
  const std::uint64_t connections =
      std::max(memory_shares(usable, shards).connections, memory / shards / 8);
  return memory + memory / 5 + memory_of_others(connections, shards);
}

void warn_of_group_memory(std::uint64_t memory, unsigned shards) {
  const GroupMemory limit = group_memory();
  if (memory == 0 || limit.bytes == UINT64_MAX) return;
  const std::uint64_t needed = memory_needed(memory, limit.bytes, shards);
  if (needed <= limit.bytes) return;
  emit(Event{
      EventCode::memory_above_group_limit,
      fmt::format(
          "--memory is {} MiB, with which pawl may need {} MiB, and the control group {} allows "
          "{} MiB. The kernel may end pawl under load. Raise the limit (MemoryMax= in the "
          "systemd unit, --memory of a container), or lower --memory to {} MiB",
          mebibytes(memory), mebibytes(needed), limit.group, mebibytes(limit.bytes),
          mebibytes(memory_shares(limit.bytes, shards).messages))}
           .with("memory_bytes", memory)
           .with("needed_bytes", needed)
           .with("limit_bytes", limit.bytes));
}

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(static_cast<std::size_t>(i), &set)) cpus.push_back(i);
  }
  return cpus;
}

}  // namespace pawl

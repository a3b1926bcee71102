// SPDX-License-Identifier: Apache-2.0
#include "net/server/process_limits.h"

#include <fmt/core.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <cstring>
#include <latch>
#include <vector>

#include "net/io/resource_limits.h"

namespace pawl {
namespace {

constexpr unsigned other_threads = 2;  // StartWatch, and a spare

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

std::expected<void, std::string> check_process_limits(unsigned shards, std::uint64_t memory) {
  if (auto space = check_address_space(shards, memory); !space) return space;
  return check_threads(shards + other_threads);
}

void warn_of_group_memory(std::uint64_t memory) {
  const GroupMemory limit = group_memory();
  if (memory <= limit.bytes / 4 * 3) return;
  fmt::print(stderr,
             "pawl: --memory is {} MiB, and the control group {} allows {} MiB for all that the "
             "process has. The kernel may end pawl under load. Raise the limit (MemoryMax= in the "
             "systemd unit, --memory of a container), or lower --memory to {} MiB\n",
             mebibytes(memory), limit.group, mebibytes(limit.bytes), mebibytes(limit.bytes / 2));
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

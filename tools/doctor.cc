// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <liburing.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "core/check.h"
#include "net/io/disk_latency.h"
#include "net/server/machine.h"

namespace pawl {
namespace {

using Status = Finding::Status;

// Locked memory of one shard's ring (1024 + 8192 entries), measured on 6.18.
constexpr std::uint64_t ring_locked_bytes = 256 << 10;
constexpr std::uint64_t files_wanted = 10'240;  // three quarters of it are for connections
constexpr std::uint64_t space_wanted = std::uint64_t{1} << 30;

// Makes a ring like a shard's (net/io/ring.h) and closes it. Returns 0 or errno.
int probe_ring() {
  io_uring_params params{};
  params.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
                 IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL |
                 IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;
  params.cq_entries = 8192;
  const long ring = syscall(__NR_io_uring_setup, 1024, &params);
  if (ring < 0) return errno;
  close(static_cast<int>(ring));
  return 0;
}

Finding check_ring(const std::string& root) {
  const int error = probe_ring();
  if (error == 0)
    return {"io_uring", Status::ok, "a ring with SINGLE_ISSUER and DEFER_TASKRUN can be made", ""};
  const std::string text = explain_ring_error(error, ring_surroundings(root));
  const std::size_t split = text.find(". ");
  return {"io_uring", Status::fail, text.substr(0, split),
          split == text.npos ? "" : text.substr(split + 2)};
}

Finding check_memlock(unsigned shards) {
  const std::uint64_t allowed = process_limit(RLIMIT_MEMLOCK);
  const std::uint64_t wanted = shards * ring_locked_bytes;
  if (geteuid() == 0) return {"locked memory", Status::ok, "root is not limited", ""};
  if (allowed >= wanted)
    return {"locked memory", Status::ok,
            fmt::format("{} of {} needed", amount_text(allowed), amount_text(wanted)), ""};
  return {"locked memory", Status::warn,
          fmt::format("{} shards need {} for their rings, RLIMIT_MEMLOCK is {}", shards,
                      amount_text(wanted), amount_text(allowed)),
          "Raise it: `ulimit -l unlimited`, or LimitMEMLOCK=infinity in the systemd unit."};
}

Finding check_files() {
  const std::uint64_t allowed = process_limit(RLIMIT_NOFILE);
  if (allowed >= files_wanted)
    return {"open files", Status::ok, fmt::format("{} allowed", allowed), ""};
  return {"open files", Status::warn, fmt::format("{} allowed; each connection uses one", allowed),
          fmt::format("Raise it: `ulimit -n {}`, or LimitNOFILE={} in the systemd unit.",
                      files_wanted, files_wanted)};
}

std::uint64_t magic_of(const struct statfs& about) {
  return static_cast<std::uint64_t>(about.f_type) & 0xffffffff;
}

std::vector<Finding> check_filesystem(const std::string& directory) {
  struct statfs about{};
  if (statfs(directory.c_str(), &about) != 0)
    return {
        {"data directory", Status::fail, fmt::format("{}: {}", directory, std::strerror(errno)),
         "Name a directory that exists."}
    };
  const std::uint64_t magic = magic_of(about);
  const std::string kind = filesystem_name(magic).empty() ? fmt::format("type {:#x}", magic)
                                                          : std::string(filesystem_name(magic));
  const std::uint64_t free =
      static_cast<std::uint64_t>(about.f_bavail) * static_cast<std::uint64_t>(about.f_bsize);

  std::vector<Finding> found;
  std::string path = directory + "/.pawl-doctor-XXXXXX";
  const int file = mkostemp(path.data(), O_DIRECT | O_CLOEXEC);
  const int error = errno;
  if (file >= 0) {
    unlink(path.c_str());
    close(file);
  }
  if (file < 0 && error != EINVAL)
    found.push_back(
        {"filesystem", Status::fail,
         fmt::format("{} ({}): cannot create a file: {}", directory, kind, std::strerror(error)),
         "Make the directory writable for this user, or name another with --data."});
  else if (file < 0)
    found.push_back({"filesystem", Status::fail,
                     fmt::format("{} is {}, which refuses O_DIRECT", directory, kind),
                     "Put the data directory on ext4 or xfs."});
  else if (kind == "tmpfs")
    found.push_back({"filesystem", Status::warn,
                     fmt::format("{} is tmpfs: nothing survives a power cut", directory),
                     "Put the data directory on ext4 or xfs."});
  else if (const std::string risk = copy_on_write_warning(magic); !risk.empty())
    found.push_back(
        {"filesystem", Status::warn, fmt::format("{}: {}", directory, risk), copy_on_write_remedy});
  else
    found.push_back({"filesystem", Status::ok,
                     fmt::format("{} is {} and takes O_DIRECT", directory, kind), ""});

  if (free < space_wanted)
    found.push_back({"disk space", Status::warn, fmt::format("{} free", amount_text(free)),
                     "Free space: sends are refused when the log cannot grow."});
  else
    found.push_back({"disk space", Status::ok, fmt::format("{} free", amount_text(free)), ""});
  return found;
}

std::optional<Finding> check_device(const std::string& directory, const std::string& root) {
  struct stat about{};
  if (stat(directory.c_str(), &about) != 0) return std::nullopt;
  const std::string device =
      fmt::format("{}/sys/dev/block/{}:{}", root, major(about.st_dev), minor(about.st_dev));
  for (const char* queue : {"/queue/", "/../queue/"}) {  // a partition uses its parent's queue
    const std::string cache = text_of_file(device + queue + "write_cache");
    if (cache.empty()) continue;
    const std::string fua = text_of_file(device + queue + "fua");
    const bool through = cache == "write through";
    return Finding{"block device", Status::ok,
                   fmt::format("{}:{} cache {}, fua {}: {}", major(about.st_dev),
                               minor(about.st_dev), cache, fua,
                               through      ? "a finished write is durable"
                               : fua == "1" ? "a write can be made durable by itself"
                                            : "every durable write takes a flush"),
                   ""};
  }
  return std::nullopt;
}

Finding check_latency(const std::string& directory, double seconds) {
  const auto measured = measure_disk(directory, seconds);
  if (!measured)
    return {"durable write", Status::warn,
            fmt::format("not measured: {}: {}", measured.error().what,
                        std::strerror(measured.error().sys)),
            "See the other findings."};
  const auto& [flush, dsync] = *measured;
  const std::string what = fmt::format(
      "4 KiB: write + fdatasync p50 {:.0f} us, p99 {:.0f} us ({} writes); RWF_DSYNC p50 {:.0f} us, "
      "p99 {:.0f} us ({} writes)",
      flush.p50_us, flush.p99_us, flush.writes, dsync.p50_us, dsync.p99_us, dsync.writes);
  const double best = std::min(flush.p50_us, dsync.p50_us);
  if (best > 5000)
    return {"durable write", Status::warn, what,
            "Every send waits for this: a drive with power-loss protection takes 20 to 100 us."};
  if (best < 8)
    return {"durable write", Status::warn, what,
            "Faster than any drive: this storage may acknowledge a flush without doing it, and a "
            "power cut then loses messages."};
  return {"durable write", Status::ok, what, ""};
}

unsigned usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<unsigned>(CPU_COUNT(&set));
}

Finding check_cpus(unsigned cpus, const std::string& root) {
  const auto quota = cpu_quota(root);
  if (quota && *quota < cpus)
    return {"cpus", Status::warn,
            fmt::format("{} usable, but the cgroup's quota is {:.2f}", cpus, *quota),
            "Give the container whole CPUs, or run with --poll never, which spends no quota on "
            "spinning."};
  return {
      "cpus", Status::ok,
      fmt::format("{} usable, {}", cpus, quota ? fmt::format("quota {:.2f}", *quota) : "no quota"),
      ""};
}

// Checks a kernel setting of one word; most virtual machines do not have it.
std::optional<Finding> check_setting(const char* name, const std::string& path,
                                     std::initializer_list<std::string_view> good,
                                     const char* remedy) {
  const std::string value = text_of_file(path);
  if (value.empty()) return std::nullopt;
  const bool fine = std::find(good.begin(), good.end(), value) != good.end();
  return Finding{name, fine ? Status::ok : Status::warn, value, fine ? "" : remedy};
}

std::string nearest_directory(const std::string& path) {
  std::error_code ignored;
  std::filesystem::path at = std::filesystem::absolute(path, ignored).lexically_normal();
  while (!std::filesystem::is_directory(at, ignored) && at.has_relative_path())
    at = at.parent_path();
  return at.string();
}

}  // namespace

std::string_view name_of(Finding::Status status) {
  constexpr std::string_view names[] = {"ok", "warn", "fail"};
  const auto index = static_cast<std::size_t>(status);
  CHECK(index < std::size(names), "status {}", index);
  return names[index];
}

std::optional<double> cpu_quota(const std::string& root) {
  // cgroup v2: "max 100000" or "150000 100000", in every group up to the top; the smallest applies.
  const std::string groups = text_of_file(root + "/proc/self/cgroup");
  std::string group = line_after(groups, "0::");
  std::optional<double> smallest;
  const auto consider = [&smallest](double quota, double period) {
    if (quota > 0 && period > 0)
      smallest = std::min(smallest.value_or(quota / period), quota / period);
  };
  while (true) {
    std::istringstream max(text_of_file(root + "/sys/fs/cgroup" + group + "/cpu.max"));
    double quota = 0, period = 0;
    if (max >> quota >> period) consider(quota, period);
    const std::size_t slash = group.rfind('/');
    if (slash == group.npos) break;
    group.resize(slash);
  }
  // cgroup v1: in a container the group's own files are at the top of the mount.
  for (const char* mount : {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"})
    consider(number_in(text_of_file(root + mount + "/cpu.cfs_quota_us"), -1),
             number_in(text_of_file(root + mount + "/cpu.cfs_period_us"), 0));
  return smallest;
}

std::vector<Finding> examine(const DoctorOptions& options) {
  const std::string& root = options.root;
  const unsigned cpus = usable_cpus();
  const std::string directory = nearest_directory(options.data);
  std::vector<Finding> found;
  const auto add = [&found](std::optional<Finding> finding) {
    if (finding) found.push_back(std::move(*finding));
  };
  add(check_ring(root));
  add(check_memlock(options.shards != 0 ? options.shards : cpus));
  add(check_files());
  for (Finding& finding : check_filesystem(directory)) found.push_back(std::move(finding));
  add(check_device(directory, root));
  if (options.disk_seconds > 0) add(check_latency(directory, options.disk_seconds));
  add(check_cpus(cpus, root));
  add(check_setting("clock source",
                    root + "/sys/devices/system/clocksource/clocksource0/current_clocksource",
                    {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"},
                    "Reading the time costs a system call with this one. Boot with clocksource=tsc "
                    "where the CPU allows it."));
  add(check_setting(
      "cpu governor", root + "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
      {"performance"},
      "Waking up takes longer at a low clock: `cpupower frequency-set -g performance`."));
  return found;
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/doctor.h"

#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/statfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "core/base/check.h"
#include "net/io/disk_latency.h"
#include "net/io/kernel_clocks.h"
#include "net/io/resource_limits.h"
#include "net/io/system_file.h"
#include "net/server/landlock.h"
#include "net/server/machine.h"
#include "net/server/process_limits.h"
#include "tools/doctor/log_writes.h"
#include "tools/doctor/ring_memory.h"
#include "tools/doctor/shard_conditions.h"

namespace pawl {
namespace {

using Status = Finding::Status;

constexpr std::uint64_t space_wanted = std::uint64_t{1} << 30;

std::uint64_t magic_of(const struct statfs& about) {
  return static_cast<std::uint64_t>(about.f_type) & 0xffffffff;
}

// Whether a file can be created and survives; how the log writes it is O_DIRECT's finding.
Finding check_kind(const std::string& directory, std::uint64_t magic, int error) {
  constexpr const char* name = "filesystem";
  const std::string kind = filesystem_name(magic).empty() ? fmt::format("type {:#x}", magic)
                                                          : std::string(filesystem_name(magic));
  if (error != 0)
    return {name, Status::fail,
            fmt::format("{} ({}): cannot create a file: {}", directory, kind, std::strerror(error)),
            "Make the directory writable for this user, or name another with --data."};
  if (kind == "tmpfs")
    return {name, Status::warn, fmt::format("{} is tmpfs: nothing survives a power cut", directory),
            "Put the data directory on ext4 or xfs."};
  if (const std::string risk = copy_on_write_warning(magic); !risk.empty())
    return {name, Status::warn, fmt::format("{}: {}", directory, risk), copy_on_write_remedy};
  return {name, Status::ok, fmt::format("{} is {}: files can be created", directory, kind), ""};
}

// `error`: errno of creating a file.
std::vector<Finding> check_filesystem(const std::string& directory, int error) {
  struct statfs about{};
  if (statfs(directory.c_str(), &about) != 0)
    return {
        {"data directory", Status::fail, fmt::format("{}: {}", directory, std::strerror(errno)),
         "Name a directory that exists."}
    };
  const std::uint64_t free =
      static_cast<std::uint64_t>(about.f_bavail) * static_cast<std::uint64_t>(about.f_bsize);
  std::vector<Finding> found{check_kind(directory, magic_of(about), error)};
  if (free < space_wanted)
    found.push_back({"disk space", Status::warn, fmt::format("{} free", amount_text(free)),
                     "Free space: sends are refused when the log cannot grow."});
  else
    found.push_back({"disk space", Status::ok, fmt::format("{} free", amount_text(free)), ""});
  return found;
}

const char* remedy_of(const Error& error) {
  switch (error.sys) {
    case EFBIG:
      return "Raise RLIMIT_FSIZE: `ulimit -f unlimited`, or LimitFSIZE=infinity in the systemd "
             "unit.";
    case ENOSPC:
      return "Free space on the disk.";
    default:
      return "See the other findings.";
  }
}

Finding check_latency(const std::string& directory, double seconds) {
  const auto measured = after_closed_rings([&] { return measure_disk(directory, seconds); });
  if (!measured)
    return {"durable write", Status::warn,
            fmt::format("not measured: {}: {}", measured.error().what,
                        std::strerror(measured.error().sys)),
            remedy_of(measured.error())};
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

// Spinning is meant to make writes faster; where a thread of the kernel waits for the spinning one,
// it makes them slower.
bool spinning_is_slow(const LogWrites& measured) {
  const WriteFigures& rest = measured.cases[rest_case];
  const WriteFigures& spinning = measured.cases[spin_case];
  return spinning.writes > 0 && spinning.p50_us > 2 * rest.p50_us;
}

std::string_view text_of(SegmentState state) {
  switch (state) {
    case SegmentState::fresh:
      return "fresh zeros";
    case SegmentState::reused:
      return "reused segment";
    case SegmentState::unfilled:
      return "allocated without zeros";
  }
  CHECK(false, "state {}", static_cast<int>(state));
}

Finding finding_of(const LogWriteCase& at, const WriteFigures& figures) {
  const std::string condition =
      fmt::format("{} KiB{}, {}, thread {}", at.frame_bytes >> 10,
                  at.at_once > 1 ? fmt::format(", {} at once", at.at_once) : "",
                  text_of(at.segment), at.poll == Poll::block ? "asleep" : "spinning");
  if (figures.writes == 0)
    return {at.name, Status::warn, fmt::format("not measured: {}", condition),
            "Give more --seconds, or see preallocation."};
  const auto whole = [](double value) { return static_cast<std::uint64_t>(value + 0.5); };
  return {
      at.name,
      Status::ok,
      fmt::format("{}: p50 {:.0f} us, p99 {:.0f} us, p99.9 {:.0f} us, {:.0f} MiB/s ({} writes)",
                  condition, figures.p50_us, figures.p99_us, figures.p999_us,
                  figures.bytes_per_second / (1 << 20), figures.writes),
      "",
      {},
      {{"writes", figures.writes},
        {"p50_us", whole(figures.p50_us)},
        {"p99_us", whole(figures.p99_us)},
        {"p999_us", whole(figures.p999_us)},
        {"bytes_per_second", whole(figures.bytes_per_second)}}
  };
}

std::vector<Finding> check_log_writes(const std::string& directory, double seconds, int cpu) {
  const auto measured =
      measure_log_writes({.directory = directory, .seconds = seconds, .cpu = cpu});
  if (!measured) return {not_measured(measured.error())};
  const Calibration& calibration = measured->calibration;
  std::vector<Finding> found{
      {"flush kind", Status::ok,
       fmt::format("{}: beside a busy loop linked fdatasync {:.0f} us, dsync {:.0f} us",
       name_of(calibration.kind), calibration.linked_us, calibration.dsync_us),
       ""}
  };
  for (std::size_t i = 0; i < log_write_cases.size(); ++i) {
    Finding& finding = found.emplace_back(finding_of(log_write_cases[i], measured->cases[i]));
    if (i != spin_case || !spinning_is_slow(*measured)) continue;
    finding.status = Status::warn;
    finding.remedy =
        "Spinning delays the flush here: other programs use this CPU. Run with --poll never, or "
        "with fewer --shards than CPUs.";
  }
  return found;
}

Finding check_cpus(unsigned cpus, const std::string& root) {
  const GroupCpus quota = group_cpus(root);
  if (quota.cpus > 0 && quota.cpus < cpus)
    return {"cpus", Status::warn,
            fmt::format("{} usable, but the quota of the control group {} is {:.2f}", cpus,
                        quota.group, quota.cpus),
            "Give the container whole CPUs, or run with --poll never, which spends no quota on "
            "spinning."};
  return {"cpus", Status::ok,
          fmt::format("{} usable, {}", cpus,
                      quota.cpus > 0 ? fmt::format("quota {:.2f}", quota.cpus) : "no quota"),
          ""};
}

// `memory`: the value of --memory; 0: not given.
Finding check_memory(const std::string& root, std::uint64_t memory, unsigned shards) {
  constexpr std::uint64_t comfortable = std::uint64_t{256} << 20;
  const GroupMemory limit = group_memory(root);
  if (limit.bytes == UINT64_MAX) return {"memory", Status::ok, "no control group limits it", ""};
  const std::uint64_t preset = memory_shares(limit.bytes, shards).messages;
  const std::uint64_t needed = memory_needed(memory, limit.bytes, shards);
  if (memory != 0 && needed > limit.bytes)
    return {"memory", Status::warn,
            fmt::format("the control group {} allows {}; with --memory {} pawl may need {}, and "
                        "the kernel may end it under load",
                        limit.group, amount_text(limit.bytes), amount_text(memory),
                        amount_text(needed)),
            fmt::format("Raise the limit (MemoryMax=, --memory of a container), or lower --memory "
                        "to {}.",
                        amount_text(preset))};
  const std::string what = fmt::format("the control group {} allows {}; --memory is {} by default",
                                       limit.group, amount_text(limit.bytes), amount_text(preset));
  if (limit.bytes >= comfortable) return {"memory", Status::ok, what, ""};
  return {
      "memory", Status::warn, what,
      fmt::format("Give the process {} or more: below, connections and bodies leave little room "
                  "(MemoryMax=, --memory of a container).",
                  amount_text(comfortable))};
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

std::vector<Finding> check_clocks(const std::string& root) {
  std::vector<Finding> found;
  for (const ClockFault& fault : clock_faults(root))
    found.push_back({"wall clock", Status::warn, fault.what, fault.remedy});
  if (found.empty())
    found.push_back({"wall clock", Status::ok,
                     kernel_clocks().synchronised()
                         ? "synchronised, according to the kernel"
                         : "not synchronised: after a reboot it is trusted ten minutes later",
                     ""});
  return found;
}

Finding check_landlock(int version) {
  constexpr const char* name = "landlock";
  if (version > 0)
    return {name, Status::ok,
            fmt::format("version {}: a server keeps access to its own files only", version), "",
            true};
  return {
      name, Status::warn, std::string(landlock_absent_text),
      "Add landlock to the kernel's parameter lsm=, or allow the calls landlock_* in the sandbox.",
      false};
}

std::string nearest_directory(const std::string& path) {
  std::error_code ignored;
  std::filesystem::path at = std::filesystem::absolute(path, ignored).lexically_normal();
  while (!std::filesystem::is_directory(at, ignored) && at.has_relative_path())
    at = at.parent_path();
  return at.string();
}

}  // namespace

Finding not_measured(const Error& error) {
  constexpr const char* name = "log writes";
  if (error.code == Errc::no_space && error.sys == 0)
    return {name, Status::warn,
            fmt::format("not measured: less than {} free",
                        amount_text(LogWriteOptions{}.free_bytes_min)),
            "Free space on the disk."};
  if (error.code == Errc::not_ready)
    return {name, Status::warn,
            fmt::format("not measured: {} of segments took longer than {} s", amount_text(48 << 20),
                        LogWriteOptions::prepare_seconds),
            "See durable write: the disk is slow, or something else uses it."};
  return {name, Status::warn,
          fmt::format("not measured: {}: {}", error.what, std::strerror(error.sys)),
          remedy_of(error)};
}

std::vector<Finding> examine(const DoctorOptions& options) {
  const std::string& root = options.root;
  const std::vector<int> allowed = allowed_cpus();
  const auto cpus = std::max(1u, static_cast<unsigned>(allowed.size()));
  const unsigned shards = options.shards != 0 ? options.shards : cpus;
  const int first_cpu = allowed.empty() ? 0 : allowed.front();
  const std::string directory = nearest_directory(options.data);
  std::vector<Finding> found;
  const auto add = [&found](std::optional<Finding> finding) {
    if (finding) found.push_back(std::move(*finding));
  };
  const auto add_all = [&add](std::vector<Finding> findings) {
    for (Finding& finding : findings) add(std::move(finding));
  };
  const RingAbilities ring = ring_abilities();
  add(check_ring(ring, root));
  add(check_ring_features(ring));
  add(check_memlock(shards, process_limit(RLIMIT_MEMLOCK), has_ipc_lock(root)));
  add(check_files(shards, descriptor_limit()));
  const FileAbilities file = file_abilities(directory);
  add_all(check_filesystem(directory, file.error));
  add_all(check_file_abilities(file));
  if (const auto device = block_device(directory, root)) {
    add(check_device(*device));
    add(check_fua(*device));
  }
  const int pinning = pinning_error(first_cpu);
  if (options.disk_seconds > 0) {
    const double bare = options.disk_seconds / 3;
    add(check_latency(directory, bare));
    const bool pins = pinning == 0 && shards <= cpus;  // as the server does
    add_all(check_log_writes(directory, options.disk_seconds - bare, pins ? first_cpu : -1));
  }
  add(check_cpus(cpus, root));
  add(check_memory(root, options.memory, shards));
  add(check_pinning(shards, cpus, pinning));
  add(check_huge_pages(root));
  add(check_landlock(landlock_version()));
  add_all(check_clocks(root));
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

// SPDX-License-Identifier: Apache-2.0
// Doctor: checks this machine, container and disk for obstacles to pawl, and names the remedies.
//
// examine() checks and measures; it changes nothing (its probe files in the data directory are
// unlinked at once). The server uses explain_ring_error() when its rings cannot be made.
//
// Units:  seconds, bytes, microseconds as named.
// Errors: none: an impossible check is reported as a Finding.
// Owner:  any thread; blocks for about DoctorOptions::disk_seconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

struct Finding {
  enum class Status : std::uint8_t { ok, warn, fail };
  std::string name;
  Status status = Status::ok;
  std::string what;    // the observation, with its value
  std::string remedy;  // the advice; empty when ok
};
std::string_view name_of(Finding::Status status);

struct DoctorOptions {
  std::string data = "./pawl-data";  // if it does not exist: the nearest directory above it
  double disk_seconds = 2;           // time for measuring; 0: do not measure
  unsigned shards = 0;               // 0: as many as cores
  std::string root;                  // prefix of /proc and /sys, for simulated machines in tests
};

std::vector<Finding> examine(const DoctorOptions& options);

// Facts that explain a failure of io_uring_setup.
struct RingSurroundings {
  int seccomp = 0;                           // "Seccomp:" of /proc/self/status; 2: a filter
  int io_uring_disabled = 0;                 // sysctl kernel.io_uring_disabled; 2: for all users
  std::uint64_t memlock_bytes = UINT64_MAX;  // RLIMIT_MEMLOCK
  std::string kernel;                        // release, only for the text
};
RingSurroundings ring_surroundings(const std::string& root = {});

// A sentence with the cause, then the remedy. `error` is a positive errno.
std::string explain_ring_error(int error, const RingSurroundings& around);
std::string explain_ring_error(int error);

// The risk of a copy-on-write file system for the log; empty for other file systems. `magic`:
// f_type of statfs().
std::string copy_on_write_warning(std::uint64_t magic);
std::string copy_on_write_warning(const std::string& directory);
inline constexpr const char* copy_on_write_remedy =
    "Put the data directory on ext4 or xfs, or keep space free.";

// The cgroup's quota in CPUs; nothing without a quota.
std::optional<double> cpu_quota(const std::string& root = {});

}  // namespace pawl

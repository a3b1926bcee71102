// Doctor: what this machine, container and disk let pawl do, what stands in the way, and the remedy.
//
// examine() looks and measures; it changes nothing (a probe file in the data directory is removed at
// once). The server uses explain_ring_error() alone, when its rings cannot be made.
//
// Units:  seconds, bytes, microseconds as named.
// Errors: none: a check that cannot be made is a Finding that says so.
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
  std::string what;    // what was seen, with its value
  std::string remedy;  // what to do; empty when ok
};
std::string_view name_of(Finding::Status status);

struct DoctorOptions {
  std::string data = "./pawl-data";  // or, while it does not exist, the nearest directory above it
  double disk_seconds = 2;           // of measuring; 0: do not measure
  unsigned shards = 0;               // 0: as many as cores
  std::string root;                  // put before /proc and /sys: tests show another machine here
};

std::vector<Finding> examine(const DoctorOptions& options);

// What decides why io_uring_setup failed.
struct RingSurroundings {
  int seccomp = 0;                           // "Seccomp:" of /proc/self/status; 2: a filter
  int io_uring_disabled = 0;                 // sysctl kernel.io_uring_disabled; 2: for everybody
  std::uint64_t memlock_bytes = UINT64_MAX;  // RLIMIT_MEMLOCK
  std::string kernel;                        // release, for the text alone
};
RingSurroundings ring_surroundings(const std::string& root = {});

// One sentence on what is in the way and one on what to do. `error` is a positive errno.
std::string explain_ring_error(int error, const RingSurroundings& around);
std::string explain_ring_error(int error);

// Why a file system that copies on write is a risk for the log; empty for any other. `magic`: statfs' f_type.
std::string copy_on_write_warning(std::uint64_t magic);
std::string copy_on_write_warning(const std::string& directory);
inline constexpr const char* copy_on_write_remedy =
    "Put the data directory on ext4 or xfs, or keep space free.";

// How many CPUs the cgroup's quota amounts to; none without a quota.
std::optional<double> cpu_quota(const std::string& root = {});

}  // namespace pawl

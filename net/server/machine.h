// SPDX-License-Identifier: Apache-2.0
// Facts about this machine that explain why pawl cannot start or is at risk: io_uring and file
// systems.
//
// Units:  bytes.
// Errors: none: what cannot be read is unknown.
// Owner:  any thread; no state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "net/io/ring_choice.h"

namespace pawl {

// Facts that explain a failure of io_uring_setup.
struct RingSurroundings {
  int seccomp = 0;  // "Seccomp:" of /proc/self/status; 2: a filter
  // sysctl kernel.io_uring_disabled; 2: for all users, -1: /proc/sys is hidden.
  int io_uring_disabled = 0;
  std::uint64_t memlock_bytes = UINT64_MAX;  // RLIMIT_MEMLOCK
  std::string kernel;                        // release, only for the text
};
// `root`: prefix of /proc and /sys, for simulated machines in tests.
RingSurroundings ring_surroundings(const std::string& root = {});

// A sentence with the cause, then the remedy.
std::string explain_ring_error(const Error& error, const RingSurroundings& around);
std::string explain_ring_error(const Error& error);
// Why threads take the place of io_uring, what that costs, and how to get io_uring.
std::string fallback_text(const RingChoice& choice);

// The name of a file system, for example "ext4"; empty: unknown. `magic`: f_type of statfs().
std::string_view filesystem_name(std::uint64_t magic);

// The risk of a copy-on-write file system for the log; empty for other file systems.
std::string copy_on_write_warning(std::uint64_t magic);
std::string copy_on_write_warning(const std::string& directory);
inline constexpr const char* copy_on_write_remedy =
    "Put the data directory on ext4 or xfs, or keep space free.";

// A text such as "1.5 GiB" or "64 KiB"; UINT64_MAX is "unlimited".
std::string amount_text(std::uint64_t bytes);
// The soft limit of a resource of getrlimit(); UINT64_MAX: unlimited, 0: unknown.
std::uint64_t process_limit(int resource);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Facts about this machine that explain why pawl cannot start or is at risk: io_uring, file
// systems, and the small text files of /proc and /sys.
//
// Units:  bytes.
// Errors: none: a missing or malformed file yields an empty text or the given default.
// Owner:  any thread; no state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pawl {

// Facts that explain a failure of io_uring_setup.
struct RingSurroundings {
  int seccomp = 0;                           // "Seccomp:" of /proc/self/status; 2: a filter
  int io_uring_disabled = 0;                 // sysctl kernel.io_uring_disabled; 2: for all users
  std::uint64_t memlock_bytes = UINT64_MAX;  // RLIMIT_MEMLOCK
  std::string kernel;                        // release, only for the text
};
// `root`: prefix of /proc and /sys, for simulated machines in tests.
RingSurroundings ring_surroundings(const std::string& root = {});

// A sentence with the cause, then the remedy. `error` is a positive errno.
std::string explain_ring_error(int error, const RingSurroundings& around);
std::string explain_ring_error(int error);

// The name of a file system, for example "ext4"; empty: unknown. `magic`: f_type of statfs().
std::string_view filesystem_name(std::uint64_t magic);

// The risk of a copy-on-write file system for the log; empty for other file systems.
std::string copy_on_write_warning(std::uint64_t magic);
std::string copy_on_write_warning(const std::string& directory);
inline constexpr const char* copy_on_write_remedy =
    "Put the data directory on ext4 or xfs, or keep space free.";

// The file's text without final line ends; empty if there is no file.
std::string text_of_file(const std::string& path);
// The rest of the line that begins with `key`; empty: there is no such line.
std::string line_after(const std::string& text, std::string_view key);
// The number at the beginning of `text`.
int number_in(std::string_view text, int otherwise);
// A text such as "1.5 GiB" or "64 KiB"; UINT64_MAX is "unlimited".
std::string amount_text(std::uint64_t bytes);
// The soft limit of a resource of getrlimit(); UINT64_MAX: unlimited, 0: unknown.
std::uint64_t process_limit(int resource);

}  // namespace pawl

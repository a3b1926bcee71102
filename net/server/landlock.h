// SPDX-License-Identifier: Apache-2.0
// Landlock: a thread gives up the rights to files that it does not need. Threads that it starts
// later, and the kernel's workers of their rings, have the same limits; nothing takes them back.
//
// Open files keep their rights. Some actions are not limited: stat, chmod, and sockets.
//
// Limits: kernels know more rights from version to version; a right that the kernel does not know
//         is neither refused nor granted.
// Errors: a text with the path, the problem and the remedy.
// Owner:  functions.
// Source: landlock(7), Documentation/userspace-api/landlock.rst of the kernel.
#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>

namespace pawl {

struct FileRights {
  static constexpr std::uint64_t write_file = 1 << 1, read_file = 1 << 2, read_dir = 1 << 3,
                                 remove_dir = 1 << 4, remove_file = 1 << 5, make_dir = 1 << 7,
                                 make_regular = 1 << 8, make_socket = 1 << 9, refer = 1 << 13,
                                 truncate = 1 << 14;
  static constexpr std::uint64_t all_known = (1 << 16) - 1;  // those of version 5
  static constexpr std::uint64_t read = read_file | read_dir;
  // Regular files and directories, not devices, links or sockets.
  static constexpr std::uint64_t write =
      read | write_file | remove_dir | remove_file | make_dir | make_regular | refer | truncate;
};

struct FileRule {
  std::string path;          // a file, or a directory with all that is below it
  std::uint64_t rights = 0;  // of FileRights
  bool may_be_absent = false;
};

// The version of Landlock's interface; 0: the kernel has none, has it switched off, or a sandbox
// refuses the calls.
int landlock_version();
// The text of the event and of `pawl doctor` for version 0.
inline constexpr std::string_view landlock_absent_text =
    "the kernel has no Landlock, has it switched off, or a sandbox refuses its calls "
    "(landlock_create_ruleset): file access is limited by the user's rights only";

// The calling thread keeps the rights of the rules. `version` is landlock_version(), not 0.
std::expected<void, std::string> limit_file_access(std::span<const FileRule> rules, int version);

}  // namespace pawl

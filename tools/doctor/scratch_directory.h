// SPDX-License-Identifier: Apache-2.0
// ScratchDirectory: a temporary directory on the disk that `pawl doctor` measures.
//
//   make() --> .pawl-doctor-XXXXXX, locked --destructor--> deleted with its files
//
// The lock ends with the process. make() deletes the directories of processes that were killed:
// those of the same user that are not locked.
//
// Errors: Errc::io with errno; Errc::no_space on a full disk.
// Owner:  one thread. Signals that end the process are the caller's: see held_signals.h.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace pawl {

class ScratchDirectory {
 public:
  static constexpr std::string_view prefix = ".pawl-doctor-";

  static Result<ScratchDirectory> make(const std::string& parent);
  ~ScratchDirectory();
  ScratchDirectory(ScratchDirectory&& other) noexcept;
  ScratchDirectory& operator=(ScratchDirectory&&) = delete;

  const std::string& path() const { return path_; }

 private:
  ScratchDirectory(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

  std::string path_;
  int lock_;  // -1: moved away
};

}  // namespace pawl

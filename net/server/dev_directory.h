// SPDX-License-Identifier: Apache-2.0
// DevDirectory: the data directory of a development server, deleted at its end.
//
// make() also deletes the directories that killed development servers of the same user left there:
// those that nobody locks and that have not changed for left_after.
//
// Errors: a text with the failure, the directory and the remedy. Leftovers that cannot be deleted
//         stay.
// Owner:  the caller; the destructor deletes the directory with all its files, so that the server
//         must have ended.
#pragma once

#include <chrono>
#include <expected>
#include <string>

namespace pawl {

class DevDirectory {
 public:
  static constexpr std::chrono::minutes left_after{1};

  // In $TMPDIR, or /tmp.
  static std::expected<DevDirectory, std::string> make();
  static std::expected<DevDirectory, std::string> make_in(const std::string& parent);
  DevDirectory(DevDirectory&& other) noexcept;
  DevDirectory& operator=(DevDirectory&&) = delete;
  ~DevDirectory();

  const std::string& path() const { return path_; }

 private:
  explicit DevDirectory(std::string path) : path_(std::move(path)) {}

  std::string path_;  // empty: another object has it
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// MoveState: the ids of the messages that `pawl move` has sent, in memory and in a file.
//
//   {"from":"http://a:9324/orders","to":"http://b:9324/orders"}
//   0f4c6d5e-...
//   1b2a...
//
// A message is noted after its send was acknowledged and before it is deleted. A run after a crash
// then deletes the messages that were sent, and sends none of them again. A line without its end
// was never flushed: it is cut off.
//
// Units:  messages. An id takes about 100 bytes of memory, and 37 of the file.
// Limits: one process at a time has the file.
// Errors: a sentence with the path and the remedy.
// Owner:  one verb.
// Source: flock(2), fdatasync(2).
#pragma once

#include <cstddef>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>

namespace pawl {

class MoveState {
 public:
  // `title`: the first line, which must be that of an existing file. An empty path: no file.
  static std::expected<MoveState, std::string> open(const std::string& path,
                                                    const std::string& title);
  MoveState(MoveState&& other) noexcept;
  MoveState& operator=(MoveState&&) = delete;
  ~MoveState();

  bool has(const std::string& id) const { return ids_.contains(id); }
  std::size_t size() const { return ids_.size(); }
  // The ids are on the disk when it returns.
  [[nodiscard]] std::expected<void, std::string> note(std::span<const std::string> ids);

 private:
  explicit MoveState(std::string path) : path_(std::move(path)) {}
  std::expected<void, std::string> read(const std::string& title);
  std::expected<void, std::string> append(std::string_view text);
  std::string failure(const char* act) const;

  std::string path_;
  int file_ = -1;
  std::unordered_set<std::string> ids_;
};

}  // namespace pawl

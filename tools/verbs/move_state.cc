// SPDX-License-Identifier: Apache-2.0
#include "tools/verbs/move_state.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/check.h"

namespace pawl {
namespace {

using Done = std::expected<void, std::string>;

}  // namespace

std::expected<MoveState, std::string> MoveState::open(const std::string& path,
                                                      const std::string& title) {
  CHECK(!title.empty() && !title.contains('\n'), "the title {}", title);
  MoveState state(path);
  if (path.empty()) return state;
  constexpr int owner_only = 0600;
  state.file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, owner_only);
  if (state.file_ < 0) return std::unexpected(state.failure("open"));
  if (flock(state.file_, LOCK_EX | LOCK_NB) != 0)
    return std::unexpected(fmt::format(
        "the state file {} is in use by another `pawl move`. Wait for its end, or name another "
        "file.",
        path));
  if (const Done read = state.read(title); !read) return std::unexpected(read.error());
  return state;
}

MoveState::MoveState(MoveState&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      ids_(std::move(other.ids_)) {}

MoveState::~MoveState() {
  if (file_ >= 0) ::close(file_);
}

Done MoveState::read(const std::string& title) {
  CHECK(file_ >= 0 && ids_.empty(), "{} was read already", path_);
  std::string text;
  char piece[1 << 16];
  ssize_t got = 0;
  while ((got = ::read(file_, piece, sizeof piece)) > 0)
    text.append(piece, static_cast<std::size_t>(got));
  if (got < 0) return std::unexpected(failure("read"));
  const std::size_t whole = text.rfind('\n') + 1;  // npos + 1 is 0
  if (whole < text.size() && ftruncate(file_, static_cast<off_t>(whole)) != 0)
    return std::unexpected(failure("shorten"));
  std::string_view rest(text.data(), whole);
  if (rest.empty()) return append(title + '\n');
  const std::string_view first = rest.substr(0, rest.find('\n'));
  if (first != title)
    return std::unexpected(
        fmt::format("the state file {} is not one of this move: it begins with \"{}\", and this "
                    "move is \"{}\". Name another file.",
                    path_, first.substr(0, 200), title));
  rest.remove_prefix(first.size() + 1);
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    CHECK(end != rest.npos, "{} bytes without a line end", rest.size());
    ids_.emplace(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  return {};
}

Done MoveState::note(std::span<const std::string> ids) {
  std::string lines;
  for (const std::string& id : ids) {
    if (id.empty() ||
        std::ranges::any_of(id, [](char c) { return static_cast<unsigned char>(c) < ' '; }))
      return std::unexpected(
          "the endpoint sent a message id that is empty or has control "
          "characters. Is --from an SQS endpoint?");
    lines += id + '\n';
    ids_.insert(id);
  }
  return lines.empty() ? Done{} : append(lines);
}

Done MoveState::append(std::string_view text) {
  CHECK(text.ends_with('\n'), "half a line: {}", text);
  if (file_ < 0) return {};
  while (!text.empty()) {
    const ssize_t written = ::write(file_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return std::unexpected(failure("write"));
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (fdatasync(file_) != 0) return std::unexpected(failure("flush"));
  return {};
}

std::string MoveState::failure(const char* act) const {
  return fmt::format("cannot {} the state file {}: {}. Name a file that this user can write.", act,
                     path_, std::strerror(errno));
}

}  // namespace pawl

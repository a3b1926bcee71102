// SPDX-License-Identifier: Apache-2.0
#include "net/server/declared_start.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <random>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "proto/declared/declared_call.h"

namespace pawl {

DeclaredStart::DeclaredStart() {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0) {
    own_ = ends[0];
    shard_ = ends[1];
  } else {
    error_ = errno;
  }
}

DeclaredStart::~DeclaredStart() {
  if (own_ >= 0) ::close(own_);
  if (shard_ >= 0) ::close(shard_);
}

int DeclaredStart::shard_end() { return std::exchange(shard_, -1); }

std::expected<std::string, StartError> DeclaredStart::apply() {
  if (own_ < 0)
    return std::unexpected(
        StartError(std::string("cannot make a pair of sockets: ") + std::strerror(error_)));
  std::string outcome;
  if (::write(own_, "\n", 1) == 1) {
    std::array<char, 4096> bytes;
    for (;;) {
      const ssize_t count = ::read(own_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      outcome.append(bytes.data(), static_cast<std::size_t>(count));
    }
  }
  ::close(std::exchange(own_, -1));
  if (outcome.empty()) {
    return std::unexpected(StartError(
        "the declared queues were not made: the connection to the shards ended. Start again"));
  }
  std::string text = outcome.substr(1);
  if (outcome.front() == '+') return text;
  return std::unexpected(
      StartError(text, outcome.front() == '-' ? StartFault::declared : StartFault::machine));
}

std::function<std::unique_ptr<RoutedWork>(std::string_view)> declare_with(
    const DeclaredRowsPtr& rows, const CallSettings& settings) {
  CHECK(settings.declare == nullptr, "the settings of a declaration have none");
  if (rows == nullptr || rows->empty()) return nullptr;
  return [rows, settings](std::string_view account) -> std::unique_ptr<RoutedWork> {
    std::random_device random;
    const std::uint64_t number = std::uint64_t{random()} << 32 | random();
    return std::make_unique<DeclaredCall>(rows, account, settings, number);
  };
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// ManagerSocket: the socket of a service manager, which receives notifications.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string>

namespace pawl {

class ManagerSocket {
 public:
  // A path, or the name of an abstract socket after '@'.
  explicit ManagerSocket(std::string name) : name_(std::move(name)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name_.data(), name_.size());
    const bool abstract = name_.starts_with('@');
    if (abstract) address.sun_path[0] = 0;
    const std::size_t length = offsetof(sockaddr_un, sun_path) + name_.size() + (abstract ? 0 : 1);
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&address), static_cast<socklen_t>(length)), 0)
        << name_ << ": " << std::strerror(errno);
  }
  ~ManagerSocket() {
    ::close(fd_);
    if (!name_.starts_with('@')) ::unlink(name_.c_str());
  }
  ManagerSocket(const ManagerSocket&) = delete;
  ManagerSocket& operator=(const ManagerSocket&) = delete;

  const char* name() const { return name_.c_str(); }
  // The next message; empty: none came in time.
  std::string next(int timeout_ms = 10'000) const {
    pollfd ready{.fd = fd_, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, timeout_ms) != 1) return {};
    char bytes[4096];
    const ssize_t n = ::recv(fd_, bytes, sizeof bytes, 0);
    return {bytes, static_cast<std::size_t>(n > 0 ? n : 0)};
  }

 private:
  std::string name_;
  int fd_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
};

}  // namespace pawl

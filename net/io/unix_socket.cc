// SPDX-License-Identifier: Apache-2.0
#include "net/io/unix_socket.h"

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/base/check.h"

namespace pawl {
namespace {

static_assert(unix_path_max + 1 == sizeof sockaddr_un::sun_path);

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  CHECK(path.size() <= unix_path_max, "a path of {} bytes", path.size());
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

int new_socket() { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); }

// 0: a server accepts connections there; else an errno.
int connect_error(const sockaddr_un& address) {
  const int fd = new_socket();
  if (fd < 0) return errno;
  const int error =
      ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
  ::close(fd);
  return error;
}

// Removes the socket that a killed server has left. Returns the problem; empty: the name is free.
std::string free_name(const std::string& path, const sockaddr_un& address) {
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0)
    return errno == ENOENT ? "" : fmt::format("{}", std::strerror(errno));
  if (!S_ISSOCK(found.st_mode)) return "the file is no socket; choose another path";
  const int error = connect_error(address);
  if (error == 0) return "a server listens there; stop it, or choose another path";
  if (error != ECONNREFUSED) return fmt::format("{}", std::strerror(error));
  if (::unlink(path.c_str()) != 0) return fmt::format("{}", std::strerror(errno));
  return "";
}

std::string bind_error(int fd, const std::string& path, mode_t mode) {
  const sockaddr_un address = address_of(path);
  if (std::string problem = free_name(path, address); !problem.empty()) return problem;
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::chmod(path.c_str(), mode) != 0) {
    return fmt::format("{}; choose a path in a directory where pawl may write",
                       std::strerror(errno));
  }
  return "";
}

}  // namespace

std::expected<UnixSocket, std::string> bind_unix(const std::string& flag, const std::string& path,
                                                 mode_t mode) {
  const auto fail = [&](const std::string& problem) {
    return std::unexpected(fmt::format("cannot bind --{} {}: {}", flag, path, problem));
  };
  if (!path.starts_with('/') || path.size() > unix_path_max) {
    return fail(fmt::format(
        "{} bytes; give an absolute path of at most {} bytes, for example /run/pawl/pawl.sock",
        path.size(), unix_path_max));
  }
  UnixSocket made{.fd = new_socket()};
  if (made.fd < 0) return fail(std::strerror(errno));
  struct stat file{};
  std::string problem = bind_error(made.fd, path, mode);
  if (problem.empty() && ::lstat(path.c_str(), &file) != 0) problem = std::strerror(errno);
  if (!problem.empty()) {
    ::close(made.fd);
    return fail(problem);
  }
  made.inode = file.st_ino;
  return made;
}

void remove_unix_socket(const UnixSocket& socket, const std::string& path) {
  struct stat file{};
  if (::lstat(path.c_str(), &file) == 0 && S_ISSOCK(file.st_mode) && file.st_ino == socket.inode)
    ::unlink(path.c_str());
}

}  // namespace pawl

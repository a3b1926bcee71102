// SPDX-License-Identifier: Apache-2.0
#include "net/server/handed_sockets.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "net/io/listen.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

constexpr std::uint64_t handed_max = 64;  // more is an error in the variable

int option(int fd, int which) {
  int value = -1;
  socklen_t length = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, which, &value, &length) == 0 ? value : -1;
}

std::string path_of(int fd) {
  sockaddr_un address{};
  socklen_t length = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return "";
  const std::size_t begin = offsetof(sockaddr_un, sun_path);
  return {address.sun_path, length > begin ? strnlen(address.sun_path, length - begin) : 0};
}

// Returns the problem; empty: the server can accept connections from the socket.
std::string examine(int fd, std::string_view name) {
  if (std::ranges::find(handed_names, name) == handed_names.end())
    return fmt::format(
        "the name \"{}\" is unknown; FileDescriptorName= of its unit is http, admin, binary or "
        "unix",
        name);
  if (::fcntl(fd, F_GETFD) < 0)
    return fmt::format("it is closed ({}); LISTEN_FDS counts a socket that was not handed over",
                       std::strerror(errno));
  const int type = option(fd, SO_TYPE), family = option(fd, SO_DOMAIN);
  if (type != SOCK_STREAM || option(fd, SO_ACCEPTCONN) != 1)
    return "it is no listening stream socket; its unit needs ListenStream= and Accept=no";
  if (name == "unix" && family != AF_UNIX)
    return "it is no Unix socket; ListenStream= of its unit is an absolute path";
  if (name != "unix" && family != AF_INET && family != AF_INET6)
    return "it is no TCP socket; ListenStream= of its unit is a port, or ADDR:PORT";
  return "";
}

}  // namespace

std::expected<std::vector<HandedSocket>, std::string> handed_sockets(
    const HandedVariables& variables, int first) {
  std::vector<HandedSocket> sockets;
  if (variables.pid == nullptr || variables.count == nullptr) return sockets;
  if (decimal_number(variables.pid) != static_cast<std::uint64_t>(::getpid())) return sockets;
  const std::optional<std::uint64_t> count = decimal_number(variables.count);
  if (!count || *count > handed_max)
    return std::unexpected(fmt::format(
        "LISTEN_FDS={}: not a number from 0 to {}; a service manager sets it, see sd_listen_fds(3)",
        variables.count, handed_max));
  std::string_view names = variables.names == nullptr ? "" : variables.names;
  for (std::uint64_t i = 0; i < *count; ++i) {
    const int fd = first + static_cast<int>(i);
    const std::string_view name = names.substr(0, names.find(':'));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    std::string problem = examine(fd, name);
    if (problem.empty() && std::ranges::find(sockets, name, &HandedSocket::name) != sockets.end())
      problem = "another one has this name; one socket on [::] accepts IPv4 and IPv6";
    if (!problem.empty())
      return std::unexpected(fmt::format("the socket {} handed over as descriptor {}: {}",
                                         name.empty() ? "without a name" : name, fd, problem));
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    sockets.push_back({fd, std::string(name), name == "unix" ? path_of(fd) : address_text(fd)});
  }
  return sockets;
}

std::expected<std::vector<HandedSocket>, std::string> take_handed_sockets() {
  auto taken = handed_sockets(
      {std::getenv("LISTEN_PID"), std::getenv("LISTEN_FDS"), std::getenv("LISTEN_FDNAMES")});
  for (const char* const variable : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"})
    ::unsetenv(variable);
  return taken;
}

}  // namespace pawl

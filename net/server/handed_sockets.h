// SPDX-License-Identifier: Apache-2.0
// Listening sockets that another process has made and hands over: socket activation.
//
// The other process, systemd for example, keeps the sockets while the server restarts. Clients that
// connect meanwhile wait in the queue of the socket, and none is refused.
//
// Limits: handed_names, each at most once.
// Errors: a text for the operator: the descriptor, the problem, the next step.
// Owner:  the caller owns the descriptors, but must not shut the sockets down.
// Source: sd_listen_fds(3).
#pragma once

#include <array>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

inline constexpr std::array<std::string_view, 4> handed_names{"http", "admin", "binary", "unix"};

struct HandedSocket {
  int fd = -1;
  std::string name;     // FileDescriptorName= of its unit, one of handed_names
  std::string address;  // host:port, or the path of a Unix socket
};

// The values of LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES; null: not set.
struct HandedVariables {
  const char* pid = nullptr;
  const char* count = nullptr;
  const char* names = nullptr;
};
inline constexpr int handed_first = 3;  // descriptor of the first one

// Empty: the variables are not for this process, or not set.
std::expected<std::vector<HandedSocket>, std::string> handed_sockets(
    const HandedVariables& variables, int first = handed_first);

// The same with the variables of this process, which are removed: children do not inherit them.
std::expected<std::vector<HandedSocket>, std::string> take_handed_sockets();

}  // namespace pawl

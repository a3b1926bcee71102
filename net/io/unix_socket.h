// SPDX-License-Identifier: Apache-2.0
// The start of a Unix socket for clients on this machine.
//
//   no file, or the socket of a server that has gone --> bound, with the mode --> listening
//
// The mode of the file decides who may connect. Nobody can connect before the socket listens, so
// nobody can while the mode is another one.
//
// Limits: unix_path_max bytes of path.
// Errors: a text for the operator: the flag, the value, the next step.
// Owner:  the caller owns the descriptor and the file.
// Source: unix(7).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <expected>
#include <string>

namespace pawl {

inline constexpr std::size_t unix_path_max = 107;

struct UnixSocket {
  int fd = -1;
  ino_t inode = 0;  // of its file
};

// Binds the path, which must be absolute; the socket does not listen yet.
std::expected<UnixSocket, std::string> bind_unix(const std::string& flag, const std::string& path,
                                                 mode_t mode);

// Removes the socket's file, unless another file has its name by now.
void remove_unix_socket(const UnixSocket& socket, const std::string& path);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// The files that a running server needs, and the start's step that gives up all others.
//
//   directory                                   rights
//   --data                                      read, write
//   of --unix                                   make and delete sockets and files
//   of --config, --keys, --admin-token,         read: SIGHUP loads them again
//   --tls-cert and --tls-key
//   the parent of a --dev directory             delete empty directories
//   /proc, /sys, libraries, OpenSSL, names,     read
//   time zones, random numbers
//
// Everything else is open by then: ports, handed sockets, LOCK, the socket of the service manager.
//
// Errors: a text with the path, the problem and the remedy.
// Owner:  Server::start(), after the data directory is open and before shards have threads.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "net/server/landlock.h"
#include "net/server/server.h"

namespace pawl {

std::vector<FileRule> file_rules(const ServerOptions& options);

// The directories on the way to a file: its own, and those of symbolic links, which a renewal may
// replace. A link in / or in a directory of / is a part of the system: no renewal replaces it.
// `path` may be relative.
std::vector<std::string> directories_on_the_way(const std::string& path);

// Limits this thread and those that it starts from now on; the writer of events starts anew.
// Without Landlock an event says so.
std::expected<void, std::string> limit_server_files(const ServerOptions& options);

}  // namespace pawl

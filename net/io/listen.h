// SPDX-License-Identifier: Apache-2.0
// The start of a listening socket: it binds the address that the operator wrote.
//
// Errors: a text for the operator: the flag, the value, the next step.
// Owner:  the caller owns the descriptor.
#pragma once

#include <expected>
#include <string>

namespace pawl {

// Binds "ADDR:PORT" and reserves the port; the socket does not listen yet. `guarded`: clients must
// authenticate, so other machines may reach it.
std::expected<int, std::string> bind_to(const std::string& flag, const std::string& text,
                                        bool guarded);

// The same for a socket that another process has bound; `address`: its own.
std::expected<void, std::string> adopt_socket(const std::string& flag, int fd,
                                              const std::string& address, bool guarded);

// Makes a socket of bind_to() listen. Returns 0 or an errno.
int listen_on(int fd, int backlog);

// host:port of a bound socket.
std::string address_text(int fd);

}  // namespace pawl

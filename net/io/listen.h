// A listening socket's beginnings: an address as the operator wrote it, bound.
//
// Errors: a text for the operator: the flag, the value, what to do.
// Owner:  the caller owns the descriptor.
#pragma once

#include <expected>
#include <string>

namespace pawl {

// Binds "ADDR:PORT"; not listening yet, but the port is this socket's. `guarded`: callers are asked who
// they are, so that others than this machine may reach it.
std::expected<int, std::string> bind_to(const std::string& flag, const std::string& text,
                                        bool guarded);

// Makes a socket of bind_to() listen. Returns 0 or an errno.
int listen_on(int fd, int backlog);

// host:port of a bound socket.
std::string address_text(int fd);

}  // namespace pawl

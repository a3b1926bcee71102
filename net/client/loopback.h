// SPDX-License-Identifier: Apache-2.0
// Congestion control of sockets to this machine.
//
// Loopback loses no packets and has no bandwidth to probe. A system whose default is BBR still
// paces such a connection and, every ten seconds, limits it to four packets for 200 ms.
#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace pawl {

inline bool is_loopback(const sockaddr& address) {
  if (address.sa_family == AF_INET6) {
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
  }
  return address.sa_family == AF_INET &&
         ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) >> 24 == 127;
}

// Selects Reno; call it before connect(), because it does not stop pacing that has begun. Every
// kernel has Reno, and every user may select it; a failure leaves the system's default.
inline void avoid_pacing(int socket, const sockaddr& address) {
  constexpr char reno[] = "reno";
  if (is_loopback(address))
    ::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, reno, sizeof reno - 1);
}

}  // namespace pawl

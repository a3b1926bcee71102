// Congestion control of sockets to this machine.
//
// Loopback loses nothing and has no bandwidth to find. A system whose default is BBR paces such a
// connection all the same and, every ten seconds, holds it down to four packets for 200 ms.
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

// Before connect(): pacing that has begun is not ended by it. Reno is in every kernel, and every
// user may choose it; a failure leaves the system's default.
inline void avoid_pacing(int socket, const sockaddr& address) {
  constexpr char reno[] = "reno";
  if (is_loopback(address))
    ::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, reno, sizeof reno - 1);
}

}  // namespace pawl

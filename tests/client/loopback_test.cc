// SPDX-License-Identifier: Apache-2.0
#include "net/client/loopback.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace pawl {
namespace {

sockaddr_storage address_of(const char* text) {
  sockaddr_storage storage{};
  auto& v4 = reinterpret_cast<sockaddr_in&>(storage);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(storage);
  if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
  } else {
    EXPECT_EQ(inet_pton(AF_INET6, text, &v6.sin6_addr), 1) << text;
    v6.sin6_family = AF_INET6;
  }
  return storage;
}

std::string congestion_control(int socket) {
  char name[16] = "";
  socklen_t size = sizeof name;
  EXPECT_EQ(getsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name, &size), 0);
  return name;
}

TEST(Loopback, IsTheWholeNetwork127AndOneAddressOfIpv6) {
  constexpr struct {
    const char* text;
    bool loopback;
  } cases[] = {
      {"127.0.0.1",        true },
      {"127.255.255.254",  true },
      {"126.255.255.255",  false},
      {"128.0.0.0",        false},
      {"1.0.0.127",        false},
      {"0.0.0.0",          false},
      {"::1",              true },
      {"::",               false},
      {"::2",              false},
      {"2001:db8::1",      false},
      {"::ffff:192.0.2.1", false},
  };
  for (const auto& c : cases) {
    const sockaddr_storage address = address_of(c.text);
    EXPECT_EQ(is_loopback(reinterpret_cast<const sockaddr&>(address)), c.loopback) << c.text;
  }
  sockaddr local{};
  local.sa_family = AF_UNIX;
  EXPECT_FALSE(is_loopback(local));
}

TEST(Loopback, IsTheOnlyAddressWhoseSocketsChangeTheirCongestionControl) {
  for (const auto& [text, loopback] : {
           std::pair("127.0.0.1", true), {"192.0.2.1", false}
  }) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const std::string before = congestion_control(socket);
    const sockaddr_storage address = address_of(text);
    avoid_pacing(socket, reinterpret_cast<const sockaddr&>(address));
    EXPECT_EQ(congestion_control(socket), loopback ? "reno" : before) << text;
    ::close(socket);
  }
}

}  // namespace
}  // namespace pawl

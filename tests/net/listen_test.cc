// SPDX-License-Identifier: Apache-2.0
#include "net/io/listen.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace pawl {
namespace {

sockaddr_in loopback_of(int fd) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const std::string text = address_text(fd);
  address.sin_port =
      htons(static_cast<std::uint16_t>(std::stoul(text.substr(text.rfind(':') + 1))));
  return address;
}

// 0, or the errno of a connection to the port of `fd`.
int connect_error(int fd) {
  const sockaddr_in address = loopback_of(fd);
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int error =
      connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
  ::close(client);
  return error;
}

int option_of(int fd, int level, int name) {
  int value = 0;
  socklen_t size = sizeof value;
  EXPECT_EQ(getsockopt(fd, level, name, &value, &size), 0);
  return value;
}

TEST(Listen, NamesTheFlagTheValueAndTheNextStepInEachError) {
  const struct {
    const char *flag, *text;
    bool guarded;
    const char *cause, *step;
  } cases[] = {
      {"http",   "9324",            true,  "not of the form ADDR:PORT",  "127.0.0.1:9324"     },
      {"http",   "no.invalid:1",    true,  "no.invalid has no address",  "`ip addr`"          },
      {"http",   "127.0.0.1:http",  true,  "port http is not a number",  "port 0 picks a free"},
      {"http",   "127.0.0.1:99999", true,  "port 99999 is not a number", "from 0 to 65535"    },
      {"http",   "127.0.0.1:65536", true,  "port 65536 is not a number", "from 0 to 65535"    },
      {"http",   "127.0.0.1:-1",    true,  "port -1 is not a number",    "from 0 to 65535"    },
      {"http",   "127.0.0.1:",      true,  "port  is not a number",      "from 0 to 65535"    },
      {"http",   "192.0.2.1:0",     true,  "192.0.2.1 is not an addr",   "give one that `ip"  },
      {"http",   "0.0.0.0:0",       false, "without credentials",        "--auth sigv4"       },
      {"binary", "[::]:0",          false, "read and delete messages",   "--insecure-no-auth" },
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.text);
    const auto bound = bind_to(c.flag, c.text, c.guarded);
    ASSERT_FALSE(bound);
    const std::string& error = bound.error();
    EXPECT_TRUE(error.contains(std::string("--") + c.flag + " " + c.text)) << error;
    EXPECT_TRUE(error.contains(c.cause)) << error;
    EXPECT_TRUE(error.contains(c.step)) << error;
    EXPECT_FALSE(error.contains("error")) << "the caller prints that word: " << error;
  }
}

TEST(Listen, BindsOtherAddressesOnlyWhereClientsAuthenticate) {
  for (const char* text : {"127.0.0.1:0", "127.9.9.9:0", "localhost:0"}) {
    const auto bound = bind_to("http", text, false);
    ASSERT_TRUE(bound) << bound.error();
    ::close(*bound);
  }
  const auto bound = bind_to("http", "0.0.0.0:0", true);
  ASSERT_TRUE(bound) << bound.error();
  EXPECT_TRUE(address_text(*bound).starts_with("0.0.0.0:"));
  ::close(*bound);
}

TEST(Listen, WritesAnAddressAsItIsRead) {
  const auto bound = bind_to("http", "127.0.0.1:0", false);
  ASSERT_TRUE(bound) << bound.error();
  EXPECT_TRUE(address_text(*bound).starts_with("127.0.0.1:"));
  EXPECT_NE(address_text(*bound), "127.0.0.1:0") << "the kernel has chosen a port";
  ::close(*bound);
  const int six = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (six < 0) GTEST_SKIP() << "no IPv6";
  ::close(six);
  const auto bound_six = bind_to("http", "[::1]:0", false);
  if (!bound_six) GTEST_SKIP() << bound_six.error();
  EXPECT_TRUE(address_text(*bound_six).starts_with("[::1]:"));
  ::close(*bound_six);
}

TEST(Listen, ReservesAPortBeforeItListens) {
  const auto chosen = bind_to("http", "127.0.0.1:0", false);
  ASSERT_TRUE(chosen) << chosen.error();
  const std::string text = address_text(*chosen);
  ::close(*chosen);
  const auto bound = bind_to("http", text, false);
  ASSERT_TRUE(bound) << bound.error();
  EXPECT_EQ(connect_error(*bound), ECONNREFUSED) << "it does not listen yet";
  const int rival = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(rival, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sockaddr_in address = loopback_of(*bound);
  EXPECT_EQ(bind(rival, reinterpret_cast<const sockaddr*>(&address), sizeof address), -1);
  EXPECT_EQ(errno, EADDRINUSE);
  ::close(rival);
  EXPECT_EQ(listen_on(*bound, 8), 0);
  EXPECT_EQ(connect_error(*bound), 0);
  ::close(*bound);
}

TEST(Listen, ReportsASocketThatCannotListen) { EXPECT_EQ(listen_on(-1, 8), EBADF); }

TEST(Listen, SetsOptionsThatAcceptedSocketsInherit) {
  const auto bound = bind_to("http", "127.0.0.1:0", false);
  ASSERT_TRUE(bound) << bound.error();
  ASSERT_EQ(listen_on(*bound, 8), 0);
  const sockaddr_in address = loopback_of(*bound);
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const int accepted = accept(*bound, nullptr, nullptr);
  EXPECT_NE(option_of(accepted, IPPROTO_TCP, TCP_NODELAY), 0);
  EXPECT_NE(option_of(accepted, SOL_SOCKET, SO_KEEPALIVE), 0);
  const int vanished_s = option_of(accepted, IPPROTO_TCP, TCP_KEEPIDLE) +
                         option_of(accepted, IPPROTO_TCP, TCP_KEEPINTVL) *
                             option_of(accepted, IPPROTO_TCP, TCP_KEEPCNT);
  EXPECT_LE(vanished_s, 120);
  char congestion[16] = "";
  socklen_t size = sizeof congestion;
  EXPECT_EQ(getsockopt(accepted, IPPROTO_TCP, TCP_CONGESTION, congestion, &size), 0);
  EXPECT_STREQ(congestion, "reno");
  for (const int fd : {client, accepted, *bound}) ::close(fd);
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Sockets of a service manager: those that fit, and each kind of mistake in its unit.
#include "net/server/handed_sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

namespace pawl {
namespace {

constexpr int first = 200;  // no descriptor of the test program is as high

class HandedSocketsTest : public testing::Test {
 protected:
  ~HandedSocketsTest() override {
    for (int i = 0; i < next_; ++i) ::close(first + i);
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  // A socket at the next descriptor.
  void make(int family, int type, bool listens) {
    const int fd = ::socket(family, type, 0);
    if (family == AF_INET) {
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    } else {
      path_ = "/tmp/pawl-handed-" + std::to_string(::getpid());
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      std::memcpy(address.sun_path, path_.data(), path_.size());
      EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    }
    if (listens) {
      EXPECT_EQ(::listen(fd, 8), 0);
    }
    EXPECT_EQ(::dup2(fd, first + next_), first + next_);
    ++next_;
    ::close(fd);
  }
  static auto taken(const char* count, const char* names) {
    const std::string self = std::to_string(::getpid());
    return handed_sockets({self.c_str(), count, names}, first);
  }
  static std::string problem(const char* count, const char* names) {
    const auto sockets = taken(count, names);
    return sockets ? "none" : sockets.error();
  }

  int next_ = 0;
  std::string path_;
};

TEST_F(HandedSocketsTest, AreNamedByTheirUnits) {
  make(AF_INET, SOCK_STREAM, true);
  make(AF_UNIX, SOCK_STREAM, true);
  const auto sockets = taken("2", "http:unix");
  ASSERT_TRUE(sockets) << sockets.error();
  ASSERT_EQ(sockets->size(), 2u);
  EXPECT_EQ((*sockets)[0].fd, first);
  EXPECT_EQ((*sockets)[0].name, "http");
  EXPECT_TRUE((*sockets)[0].address.starts_with("127.0.0.1:"));
  EXPECT_EQ((*sockets)[1].address, path_);
  EXPECT_NE(::fcntl(first, F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(HandedSocketsTest, OfAnotherProcessAreIgnored) {
  make(AF_INET, SOCK_STREAM, true);
  EXPECT_TRUE(handed_sockets({"1", "1", "http"}, first)->empty());
  EXPECT_TRUE(handed_sockets({nullptr, "1", "http"}, first)->empty());
  EXPECT_TRUE(handed_sockets({}, first)->empty());
  EXPECT_TRUE(taken("0", "")->empty());
}

TEST_F(HandedSocketsTest, OfTheWrongKindAreRefusedWithTheNextStep) {
  make(AF_INET, SOCK_STREAM, true);
  make(AF_UNIX, SOCK_STREAM, true);
  make(AF_INET, SOCK_STREAM, false);
  make(AF_INET, SOCK_DGRAM, false);
  const struct {
    const char* count;
    const char* names;
    const char* says;
  } rows[] = {
      {"1",   "htpp",              "descriptor 200: the name \"htpp\" is unknown"},
      {"1",   nullptr,             "without a name"                              },
      {"2",   "http",              "without a name"                              },
      {"1",   "unix",              "no Unix socket"                              },
      {"2",   "http:admin",        "no TCP socket"                               },
      {"2",   "http:http",         "no TCP socket"                               },
      {"3",   "http:unix:admin",   "descriptor 202: it is no listening stream"   },
      {"4",   "http:unix:x:admin", "descriptor 202: the name \"x\""              },
      {"-1",  "http",              "LISTEN_FDS=-1"                               },
      {"65",  "http",              "LISTEN_FDS=65"                               },
      {"two", "http",              "LISTEN_FDS=two"                              }
  };
  for (const auto& row : rows)
    EXPECT_NE(problem(row.count, row.names).find(row.says), std::string::npos)
        << row.count << " " << (row.names == nullptr ? "" : row.names) << ": "
        << problem(row.count, row.names);
}

TEST_F(HandedSocketsTest, ThatAreClosedOrNamedTwiceAreRefused) {
  make(AF_INET, SOCK_STREAM, true);
  EXPECT_NE(problem("2", "http:admin").find("descriptor 201: it is closed"), std::string::npos);
  make(AF_INET, SOCK_STREAM, true);
  EXPECT_NE(problem("2", "http:http").find("another one has this name"), std::string::npos);
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/io/unix_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "net/connection/connection_limits.h"
#include "tests/net/live_server.h"

namespace pawl {
namespace {

class UnixSocketTest : public LiveClientTest {
 protected:
  void SetUp() override {
    LiveClientTest::SetUp();
    path_ = directory_ + "/pawl.sock";
  }
  Client::Options at_path() const {
    Client::Options options;
    options.host = path_;
    return options;
  }
  mode_t mode() const {
    struct stat found{};
    EXPECT_EQ(::lstat(path_.c_str(), &found), 0);
    return found.st_mode & 0777;
  }

  std::string path_;
};

TEST_F(UnixSocketTest, AClientSendsAndReceivesOverThePath) {
  options_.unix_path = path_;
  start();
  EXPECT_NE(server_->ready_line().find(",\"unix\":\"" + path_ + "\","), std::string::npos)
      << server_->ready_line();
  EXPECT_EQ(mode(), mode_t{0600});
  auto client = Client::connect(at_path());
  ASSERT_TRUE(client) << Client::name_of(client.error().code);
  auto queue = client->create_queue("q");
  ASSERT_TRUE(queue);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(client->send(*queue, std::to_string(i)));
  // The same queue over TCP.
  connect();
  auto opened = client_->open_queue("q");
  ASSERT_TRUE(opened);
  std::size_t received = 0;
  for (int i = 0; i < 10 && received < 3; ++i) {
    const auto messages = client_->receive(*opened, {.max = 10});
    ASSERT_TRUE(messages);
    received += messages->size();
  }
  EXPECT_EQ(received, 3u);
  server_->stop();
  server_.reset();
  EXPECT_FALSE(std::filesystem::exists(path_)) << "the server removes its file";
}

TEST_F(UnixSocketTest, TheModeIsThatOfTheOption) {
  for (const mode_t wanted : {mode_t{0600}, mode_t{0660}, mode_t{0777}}) {
    const auto made = bind_unix("unix", path_, wanted);
    ASSERT_TRUE(made) << made.error();
    EXPECT_EQ(mode(), wanted);
    remove_unix_socket(*made, path_);
    ::close(made->fd);
    EXPECT_FALSE(std::filesystem::exists(path_));
  }
}

TEST_F(UnixSocketTest, TheFileOfAKilledServerIsReplacedAndOneInUseIsNot) {
  const auto left = bind_unix("unix", path_, 0600);
  ASSERT_TRUE(left);
  ::close(left->fd);
  const auto made = bind_unix("unix", path_, 0600);
  ASSERT_TRUE(made) << made.error();
  ASSERT_EQ(::listen(made->fd, 1), 0);
  const auto second = bind_unix("unix", path_, 0600);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().find("--unix " + path_), std::string::npos) << second.error();
  EXPECT_NE(second.error().find("a server listens there"), std::string::npos) << second.error();
  ::close(made->fd);
}

TEST_F(UnixSocketTest, AnotherFileIsNeitherReplacedNorRemoved) {
  std::ofstream(path_) << "precious";
  const auto made = bind_unix("unix", path_, 0600);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().find("is no socket"), std::string::npos) << made.error();
  remove_unix_socket({.fd = 0, .inode = 1}, path_);
  EXPECT_TRUE(std::filesystem::exists(path_));
}

// The other server has bound its socket and recovers: it does not listen yet.
TEST_F(UnixSocketTest, AServerThatDoesNotStartLeavesTheSocketOfAnother) {
  const auto other = bind_unix("unix", path_, 0600);
  ASSERT_TRUE(other);
  options_.unix_path = path_;
  std::ofstream(options_.data) << "no directory";
  ASSERT_FALSE(Server::start(options_));
  EXPECT_TRUE(std::filesystem::exists(path_));
  ::close(other->fd);
}

TEST_F(UnixSocketTest, APathThatCannotBeUsedIsRefusedWithTheReason) {
  const std::string longest = "/tmp/" + std::string(unix_path_max - 5, 'x');
  for (const std::string& path :
       {std::string("relative.sock"), longest + "x", std::string("/no/such/directory/pawl.sock")}) {
    const auto made = bind_unix("unix", path, 0600);
    ASSERT_FALSE(made) << path;
    EXPECT_TRUE(made.error().starts_with("cannot bind --unix " + path)) << made.error();
  }
  const auto made = bind_unix("unix", longest, 0600);
  ASSERT_TRUE(made) << made.error();
  remove_unix_socket(*made, longest);
  ::close(made->fd);
}

TEST_F(UnixSocketTest, ThePeerIsTheUserOfItsProcess) {
  const auto made = bind_unix("unix", path_, 0600);
  ASSERT_TRUE(made);
  ASSERT_EQ(::listen(made->fd, 1), 0);
  const int client = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, path_.data(), path_.size());
  ASSERT_EQ(::connect(client, reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
  const int accepted = ::accept(made->fd, nullptr, nullptr);
  ASSERT_GE(accepted, 0);
  const PeerAddress peer = peer_of(accepted);
  EXPECT_EQ(text_of(peer), "user " + std::to_string(::getuid()));
  EXPECT_EQ(peer_network(peer), peer) << "each user is a peer of its own";
  for (const int fd : {client, accepted, made->fd}) ::close(fd);
}

TEST_F(UnixSocketTest, ItAsksForAKeyIfTheServerDoes) {
  options_.unix_path = path_;
  options_.auth = "sigv4";
  options_.load_keys = []() -> std::expected<std::shared_ptr<const Keyring>, std::string> {
    return std::make_shared<Keyring>();
  };
  start();
  const auto client = Client::connect(at_path());
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, Client::Code::unauthorized);
}

}  // namespace
}  // namespace pawl

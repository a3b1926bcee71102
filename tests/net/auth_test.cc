// SPDX-License-Identifier: Apache-2.0
// Access keys on the binary port, and the effect of reloading them.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "net/events/event_log.h"
#include "tests/net/live_server.h"

namespace pawl {
namespace {

using namespace std::chrono_literals;
using Code = Client::Code;

class AuthTest : public LiveServerTest {
 protected:
  void SetUp() override {
    LiveServerTest::SetUp();
    keys_ = {
        {"ALICE", "alices-secret", "111111111111"},
        {"BOB",   "bobs-secret",   "222222222222"}
    };
    options_.auth = "sigv4";
    options_.load_keys = [this]() -> std::expected<std::shared_ptr<const Keyring>, std::string> {
      auto ring = std::make_shared<Keyring>();
      for (const AccessKey& key : keys_) {
        if (ring->add(key) != KeyFault::none) return std::unexpected("a bad key");
      }
      return ring;
    };
  }
  Client::Result<Client> connect(const std::string& id, const std::string& secret) {
    Client::Options options = client_options();
    options.key_id = id;
    options.secret = secret;
    return Client::connect(options);
  }
  Code refusal(const std::string& id, const std::string& secret) {
    const auto client = connect(id, secret);
    return client ? Code::ok : client.error().code;
  }

  std::vector<AccessKey> keys_;
};

TEST_F(AuthTest, OnlyAKeyWithItsSecretConnects) {
  start();
  EXPECT_EQ(refusal("ALICE", "alices-secret"), Code::ok);
  EXPECT_EQ(refusal("ALICE", "bobs-secret"), Code::unauthorized);
  EXPECT_EQ(refusal("ALICE", ""), Code::unauthorized);
  EXPECT_EQ(refusal("CAROL", "alices-secret"), Code::unauthorized);
  EXPECT_EQ(refusal("", ""), Code::unauthorized);
}

TEST_F(AuthTest, AKeyReachesTheQueuesOfItsAccountAlone) {
  start();
  auto alice = connect("ALICE", "alices-secret");
  auto bob = connect("BOB", "bobs-secret");
  ASSERT_TRUE(alice && bob);
  ASSERT_TRUE(alice->create_queue("shared-name") && alice->create_queue("hers"));
  auto his = bob->create_queue("shared-name");
  ASSERT_TRUE(his);
  ASSERT_TRUE(bob->send(*his, "for bob"));
  auto hers = alice->open_queue("shared-name", "111111111111");
  ASSERT_TRUE(hers);
  EXPECT_EQ(alice->counts(*hers)->visible, 0u);
  EXPECT_EQ(bob->open_queue("hers").error().code, Code::no_such_queue);
  EXPECT_EQ(bob->open_queue("hers", "111111111111").error().code, Code::no_such_queue);
  EXPECT_EQ(bob->open_queue("nobodys", "111111111111").error().code, Code::no_such_queue);
  EXPECT_EQ(bob->list_queues()->names, (std::vector<std::string>{"shared-name"}));
  EXPECT_EQ(alice->list_queues()->names, (std::vector<std::string>{"hers", "shared-name"}));
}

// True if the server closes this client's connection within ten seconds.
bool is_closed(Client& client) {
  for (int i = 0; i < 200; ++i) {
    if (const auto listed = client.list_queues(); !listed) return true;
    std::this_thread::sleep_for(50ms);
  }
  return false;
}

TEST_F(AuthTest, ARevokedKeyClosesItsConnectionsAndNoOthers) {
  keys_.push_back({"CAROL", "carols-secret", "333333333333"});
  start();
  auto alice = connect("ALICE", "alices-secret");
  auto bob = connect("BOB", "bobs-secret");
  auto carol = connect("CAROL", "carols-secret");
  ASSERT_TRUE(alice && bob && carol);
  keys_ = {
      {"BOB",   "bobs-secret", "222222222222"},
      {"CAROL", "a-new-one",   "333333333333"}
  };
  server_->reload();
  EXPECT_EQ(refusal("CAROL", "a-new-one"), Code::ok);
  EXPECT_EQ(refusal("ALICE", "alices-secret"), Code::unauthorized);
  EXPECT_TRUE(is_closed(*alice)) << "her key is gone";
  EXPECT_TRUE(is_closed(*carol)) << "her secret is another";
  EXPECT_TRUE(bob->create_queue("q")) << "his key is as it was";
  keys_.push_back({"CAROL", "twice", "333333333333"});
  server_->reload();
  EXPECT_EQ(refusal("CAROL", "a-new-one"), Code::ok) << "a bad file changes nothing";
}

TEST_F(AuthTest, FailuresAreCountedByReasonAndLoggedWithTheAddress) {
  options_.shards = 1;
  start();
  testing::internal::CaptureStderr();
  EXPECT_EQ(refusal("ALICE", "wrong"), Code::unauthorized);
  EXPECT_EQ(refusal("NOBODY", "wrong"), Code::unauthorized);
  EXPECT_EQ(refusal("", ""), Code::unauthorized);
  const int fd = connect_http();
  send_all(fd, json_request("ListQueues", "{}"));
  EXPECT_TRUE(read_responses(fd, 1).starts_with("HTTP/1.1 400"));
  ::close(fd);
  const int admin = connect_to(port(Protocol::admin));
  std::string text;
  const std::string mismatch = "pawl_auth_failures_total{shard=\"0\",reason=\"mismatch\"} 2\n";
  const std::string missing = "pawl_auth_failures_total{shard=\"0\",reason=\"missing\"} 2\n";
  for (int i = 0; i < 50 && !(text.contains(mismatch) && text.contains(missing)); ++i) {
    std::this_thread::sleep_for(100ms);  // numbers are refreshed once a second
    send_all(admin, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    text = read_responses(admin, 1);
  }
  EXPECT_TRUE(event_log().flush());
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(text.contains(mismatch)) << text;
  EXPECT_TRUE(text.contains(missing)) << text;
  EXPECT_TRUE(log.contains("authentication failed (mismatch) from 127.0.0.1")) << log;
  ::close(admin);
}

TEST_F(AuthTest, ClientsWithAKeyAreWelcomeWhereNoneIsAskedFor) {
  options_.auth = "none";
  start();
  EXPECT_EQ(refusal("ALICE", "whatever"), Code::ok);
}

TEST_F(AuthTest, WithKeysOtherAddressesMayBeBound) {
  options_.http = options_.binary = "0.0.0.0:0";
  options_.more_http = {"0.0.0.0:0"};
  start();
  EXPECT_TRUE(server_->address(Protocol::http, 1).starts_with("0.0.0.0:"));
  EXPECT_EQ(server_->address(Protocol::http, 2), "");
}

TEST_F(AuthTest, WithoutKeysItDoesNotStart) {
  options_.load_keys = nullptr;
  const auto none = Server::start(options_);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().text.find("--keys"), std::string::npos) << none.error().text;
  options_.load_keys = [] { return std::unexpected(std::string("keys.toml:3: no")); };
  const auto bad = Server::start(options_);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().text, "keys.toml:3: no");
}

}  // namespace
}  // namespace pawl

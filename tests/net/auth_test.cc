// Access keys: on the binary port, and what reading them again changes.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

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

TEST_F(AuthTest, KeysReadAgainCountForNewConnectionsAndBadOnesDoNot) {
  start();
  auto alice = connect("ALICE", "alices-secret");
  ASSERT_TRUE(alice);
  keys_ = {
      {"CAROL", "carols-secret", "333333333333"}
  };
  server_->reload();
  EXPECT_EQ(refusal("CAROL", "carols-secret"), Code::ok);
  EXPECT_EQ(refusal("ALICE", "alices-secret"), Code::unauthorized);
  EXPECT_TRUE(alice->create_queue("q")) << "who is connected stays";
  keys_.push_back({"CAROL", "again", "333333333333"});
  server_->reload();
  EXPECT_EQ(refusal("CAROL", "carols-secret"), Code::ok);
}

TEST_F(AuthTest, ClientsWithAKeyAreWelcomeWhereNoneIsAskedFor) {
  options_.auth = "none";
  start();
  EXPECT_EQ(refusal("ALICE", "whatever"), Code::ok);
}

TEST_F(AuthTest, WithKeysOtherAddressesMayBeBoundButNotTheAdminPort) {
  options_.http = options_.binary = "0.0.0.0:0";
  start();
  ServerOptions open = options_;
  open.data = directory_ + "/other";
  open.admin = "0.0.0.0:0";
  EXPECT_FALSE(Server::start(open));
}

TEST_F(AuthTest, WithoutKeysItDoesNotStart) {
  options_.load_keys = nullptr;
  const auto none = Server::start(options_);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().find("--keys"), std::string::npos) << none.error();
  options_.load_keys = [] { return std::unexpected(std::string("keys.toml:3: no")); };
  const auto bad = Server::start(options_);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error(), "keys.toml:3: no");
}

}  // namespace
}  // namespace pawl

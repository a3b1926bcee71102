// SPDX-License-Identifier: Apache-2.0
// A client and the server that it talks to, for one test.
#pragma once

#include <gtest/gtest.h>
#include <pawl/client.h>

#include <utility>

#include "tests/client/fake_server.h"

namespace pawl {

class ClientToServer : public testing::Test {
 protected:
  Client::Options options() const {
    Client::Options made;
    made.port = server_.port();
    made.name = "client_test";
    return made;
  }
  Client connect() const { return connect(options()); }
  static Client connect(const Client::Options& with) {
    auto client = Client::connect(with);
    EXPECT_TRUE(client) << Client::name_of(client ? Client::Code::ok : client.error().code);
    return std::move(client.value());
  }

  FakeServer server_{[] {
    BinarySettings config;
    config.secret.fill(7);
    config.shards = 2;
    config.home = ShardId{1};
    config.shard_ports = {5001, 5002};
    config.boot_id = 99;
    config.credit_frames = 8;
    config.credit_bytes = 1 << 20;
    return config;
  }()};
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/connection/handed_over.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "net/connection/connections.h"
#include "proto/binary/frames.h"
#include "tests/net/live_server.h"
#include "tests/net/tls_peer.h"

namespace pawl {
namespace {

TEST(HandedOverTest, TravelsAsANumberThatNoNewConnectionHas) {
  auto handed = std::make_unique<HandedOver>(HandedOver{.fd = 7, .bytes = "hello"});
  const HandedOver* const before = handed.get();
  const std::uint64_t number = HandedOver::number_of(std::move(handed));
  EXPECT_TRUE(HandedOver::is(number));
  const std::unique_ptr<HandedOver> after = HandedOver::from(number);
  EXPECT_EQ(after.get(), before);
  EXPECT_EQ(after->bytes, "hello");
  EXPECT_FALSE(HandedOver::is(
      Connections::number_of(INT32_MAX, Protocol::local, ConnectionLimits::peer_slots_max - 1)));
}

class HandOverTest : public LiveClientTest {
 protected:
  void begin() {
    start();
    auto first = Client::connect(options());
    ASSERT_TRUE(first) << Client::name_of(first.error().code);
    client_.emplace(std::move(*first));
    // A queue of each shard.
    for (int i = 0; names_.size() < 2; ++i) {
      const std::string name = "q" + std::to_string(i);
      const auto queue = client_->create_queue(name);
      ASSERT_TRUE(queue);
      if (names_.empty() || queue->shard != shards_[0]) {
        names_.push_back(name);
        shards_.push_back(queue->shard);
      }
    }
    client_.reset();
  }
  virtual Client::Options options() { return client_options(); }
  // Connections that name either queue are on its shard, however many there are.
  void check() {
    std::vector<Client> open;
    for (std::size_t i = 0; i < 10; ++i) {
      const std::size_t queue = i % 2;
      Client::Options named = options();
      named.queue = names_[queue];
      auto client = Client::connect(named);
      ASSERT_TRUE(client) << Client::name_of(client.error().code);
      EXPECT_EQ(client->server().shard, shards_[queue]);
      const auto opened = client->open_queue(names_[queue]);
      ASSERT_TRUE(opened);
      const std::string large(100'000, 'x');
      ASSERT_TRUE(client->send(*opened, large));
      const auto got = client->receive(*opened, {.wait = std::chrono::milliseconds(1000)});
      ASSERT_TRUE(got);
      ASSERT_EQ(got->size(), 1u);
      EXPECT_EQ(got->front().body, large);
      EXPECT_TRUE(client->delete_message(*opened, got->front().receipt));
      open.push_back(std::move(*client));
    }
  }

  std::vector<std::string> names_;
  std::vector<std::uint32_t> shards_;
};

TEST_F(HandOverTest, TheShardOfTheNamedQueueServesTheConnection) {
  begin();
  check();
}

TEST_F(HandOverTest, AlsoOnAUnixSocket) {
  options_.unix_path = directory_ + "/socket";
  begin();
  for (std::size_t queue = 0; queue < 2; ++queue) {
    Client::Options named = client_options();
    named.host = options_.unix_path;
    named.queue = names_[queue];
    auto client = Client::connect(named);
    ASSERT_TRUE(client);
    EXPECT_EQ(client->server().shard, shards_[queue]);
    EXPECT_TRUE(client->ping());
  }
}

class TlsHandOverTest : public HandOverTest {
 protected:
  Client::Options options() override {
    Client::Options made = client_options();
    made.tls = true;
    made.ca_file = files_.certificate;
    return made;
  }
  CertificateFiles files_;
};

TEST_F(TlsHandOverTest, AlsoWithTls) {
  files_ = make_certificate(directory_, "server");
  options_.tls_certificate = files_.certificate;
  options_.tls_key = files_.key;
  begin();
  check();
}

// A connection counts once in the limits, wherever it is.
TEST_F(HandOverTest, KeepsItsPlaceInTheLimits) {
  options_.connections_max = options_.address_connections_max = 2;
  begin();
  for (std::size_t i = 0; i < 30; ++i) {
    Client::Options named = options();
    named.queue = names_[i % 2];
    // The server may not have seen the last end yet.
    for (int attempt = 0; attempt < 1000; ++attempt) {
      const auto client = Client::connect(named);
      if (client) {
        EXPECT_EQ(client->server().shard, shards_[i % 2]);
        break;
      }
      ASSERT_LT(attempt, 999) << i;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
}

std::string frame(BinaryOp op, std::uint32_t correlation, std::string_view payload) {
  std::string out;
  const std::size_t begin =
      begin_frame(out, {.op = static_cast<std::uint8_t>(op), .correlation = correlation});
  out.append(payload);
  finish_frame(out, begin);
  return out;
}

// A client should wait for the response to HELLO. One that does not loses nothing.
TEST_F(HandOverTest, CarriesWhatFollowedHello) {
  begin();
  for (int round = 0; round < 20; ++round) {
    const std::string& name = names_[static_cast<std::size_t>(round % 2)];
    std::string hello;
    put_all(hello, binary_magic, binary_major, binary_minor, std::uint32_t{0}, auth_none);
    put_short(hello, "eager");
    put_short(hello, "");
    put_short(hello, name);
    std::string open;
    put_short(open, "");
    put_short(open, name);
    std::string bytes = frame(BinaryOp::hello, 1, hello) + frame(BinaryOp::open_queue, 2, open) +
                        frame(BinaryOp::ping, 3, "");
    const int fd = connect_to(port(Protocol::binary));
    const std::size_t split = bytes.size() * static_cast<std::size_t>(round) / 20;
    ASSERT_EQ(::send(fd, bytes.data(), split, MSG_NOSIGNAL), static_cast<ssize_t>(split));
    ASSERT_GT(::send(fd, bytes.data() + split, bytes.size() - split, MSG_NOSIGNAL), 0);
    std::string got;
    std::vector<std::uint32_t> answered;
    while (answered.size() < 3) {
      char piece[4096];
      const ssize_t n = ::recv(fd, piece, sizeof piece, 0);
      ASSERT_GT(n, 0) << "round " << round;
      got.append(piece, static_cast<std::size_t>(n));
      while (got.size() >= frame_header_bytes) {
        const auto header = parse_header(got);
        ASSERT_TRUE(header);
        if (got.size() < header->length) break;
        EXPECT_EQ(header->status, 0u);
        answered.push_back(header->correlation);
        got.erase(0, header->length);
      }
    }
    EXPECT_EQ(answered, (std::vector<std::uint32_t>{1, 2, 3}));
    ::close(fd);
  }
}

// The refusal of a frame before HELLO must not be in the way of a hand-over.
TEST_F(HandOverTest, ABadFrameBeforeHelloEndsTheConnection) {
  begin();
  for (const std::string& name : names_) {
    std::string bad = frame(BinaryOp::ping, 1, "");
    bad[5] = 0x10;  // an unknown flag
    std::string hello;
    put_all(hello, binary_magic, binary_major, binary_minor, std::uint32_t{0}, auth_none);
    put_short(hello, "bad");
    put_short(hello, "");
    put_short(hello, name);
    const std::string bytes = bad + frame(BinaryOp::hello, 2, hello);
    for (int i = 0; i < 4; ++i) {  // some of them begin on the other shard
      const int fd = connect_to(port(Protocol::binary));
      ASSERT_EQ(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL),
                static_cast<ssize_t>(bytes.size()));
      char piece[256];
      std::size_t got = 0;
      for (ssize_t n = 0; (n = ::recv(fd, piece, sizeof piece, 0)) > 0;)
        got += static_cast<std::size_t>(n);
      EXPECT_EQ(got, frame_header_bytes + 8) << "one refusal, then the end";
      ::close(fd);
    }
  }
  EXPECT_TRUE(Client::connect(options())) << "the server lives";
}

TEST_F(HandOverTest, AQueueThatDoesNotExistIsNoSuchQueue) {
  begin();
  Client::Options named = options();
  for (const char* name : {"none", "nothing", "nowhere", "never"}) {
    named.queue = name;
    auto client = Client::connect(named);
    ASSERT_TRUE(client);
    const auto opened = client->open_queue(name);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Client::Code::no_such_queue);
  }
}

}  // namespace
}  // namespace pawl

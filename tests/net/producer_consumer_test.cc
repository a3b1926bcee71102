// SPDX-License-Identifier: Apache-2.0
// A Producer and a Consumer against the whole server, with TLS and access keys.
#include <gtest/gtest.h>
#include <pawl/consumer.h>
#include <pawl/producer.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/net/live_server.h"
#include "tests/net/tls_peer.h"

namespace pawl {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Code = Client::Code;

class ProducerConsumerTest : public LiveServerTest {
 protected:
  void SetUp() override {
    LiveServerTest::SetUp();
    files_ = make_certificate(directory_, "server");
    options_.tls_certificate = files_.certificate;
    options_.tls_key = files_.key;
    options_.auth = "sigv4";
    options_.load_keys = []() -> std::expected<std::shared_ptr<const Keyring>, std::string> {
      auto ring = std::make_shared<Keyring>();
      if (ring->add({"ALICE", "secret", "111111111111"}) != KeyFault::none)
        return std::unexpected("a bad key");
      return ring;
    };
    start();
    endpoint_.connection = client_options();
    endpoint_.connection.tls = true;
    endpoint_.connection.ca_file = files_.certificate;
    endpoint_.connection.key_id = "ALICE";
    endpoint_.connection.secret = "secret";
    endpoint_.backoff_min = endpoint_.backoff_max = 5ms;
    auto client = Client::connect(endpoint_.connection);
    ASSERT_TRUE(client) << Client::name_of(client.error().code);
    client_.emplace(std::move(*client));
  }
  Client::Queue create(std::string_view name) {
    const Client::QueueAttribute fifo[] = {
        {"FifoQueue", "true"}
    };
    const auto queue =
        name.ends_with(".fifo") ? client_->create_queue(name, fifo) : client_->create_queue(name);
    EXPECT_TRUE(queue);
    return *queue;
  }
  Producer produce(const char* queue) {
    auto made = Producer::start(
        {.endpoint = endpoint_, .queue = queue},
        [](void* context, std::uint64_t, const Client::Result<Client::Sent>& outcome) {
          if (outcome) ++*static_cast<std::atomic<int>*>(context);
        },
        &sent_);
    EXPECT_TRUE(made);
    return std::move(*made);
  }

  CertificateFiles files_;
  Endpoint endpoint_;
  std::optional<Client> client_;
  std::atomic<int> sent_ = 0;
};

TEST_F(ProducerConsumerTest, HandlesEachMessageOnceInTheOrderOfItsGroup) {
  const Client::Queue queue = create("orders.fifo");
  Producer producer = produce("orders.fifo");
  std::mutex mutex;
  std::map<std::string, std::vector<int>> handled;
  auto consumer = Consumer::start(
      {.endpoint = endpoint_, .queue = "orders.fifo", .concurrency = 30},
      [&](const Client::MessageView& message, Consumer::Token) {
        const std::lock_guard lock(mutex);
        handled[std::string(message.group)].push_back(std::stoi(std::string(message.body)));
        return Verdict::done();
      });
  ASSERT_TRUE(consumer);
  for (int i = 0; i < 500; ++i) {
    const std::string group = "g" + std::to_string(i % 5);
    ASSERT_TRUE(producer.send({.body = std::to_string(i), .group = group}, 0).accepted());
  }
  ASSERT_TRUE(producer.drain(Clock::now() + 30s));
  EXPECT_EQ(sent_, 500);
  const auto end = Clock::now() + 30s;
  while (consumer->status().deleted < 500 && Clock::now() < end) std::this_thread::sleep_for(1ms);
  ASSERT_TRUE(consumer->drain(end));
  ASSERT_EQ(handled.size(), 5u);
  for (const auto& [group, numbers] : handled) {
    ASSERT_EQ(numbers.size(), 100u) << group;
    for (std::size_t i = 0; i < numbers.size(); ++i)
      EXPECT_EQ(numbers[i] % 5, std::stoi(group.substr(1)));
    EXPECT_TRUE(std::ranges::is_sorted(numbers)) << group;
  }
  EXPECT_EQ(client_->counts(queue)->visible, 0u);
  EXPECT_EQ(client_->counts(queue)->in_flight, 0u);
}

TEST_F(ProducerConsumerTest, SendsDeadMessagesAndReleasesTheOthers) {
  const Client::Queue orders = create("orders"), letters = create("dead");
  Producer producer = produce("orders");
  const Client::Attribute attributes[] = {
      {"A", "String", "x"}
  };
  for (const char* body : {"dead", "held", "retried"})
    ASSERT_TRUE(
        producer.send({.body = body, .attributes = attributes, .group = "t"}, 0).accepted());
  ASSERT_TRUE(producer.drain(Clock::now() + 30s));
  {
    auto consumer =
        Consumer::start({.endpoint = endpoint_, .queue = "orders", .dead_letter_queue = "dead"},
                        [](const Client::MessageView& message, Consumer::Token) {
                          if (message.body == "dead") return Verdict::dead();
                          return message.body == "held" ? Verdict::later() : Verdict::retry_in(1h);
                        });
    ASSERT_TRUE(consumer);
    const auto end = Clock::now() + 30s;
    while (Clock::now() < end) {
      const Consumer::Status status = consumer->status();
      if (status.deleted == 1 && status.released == 1 && status.under_way == 1) break;
      std::this_thread::sleep_for(1ms);
    }
    EXPECT_EQ(consumer->status().refused, 0u);
  }
  EXPECT_EQ(client_->counts(orders)->in_flight, 1u) << "the retried message";
  const auto held = client_->receive(orders, {.wait = 0ms});
  ASSERT_EQ(held->size(), 1u) << "released when the Consumer was destroyed";
  EXPECT_EQ(held->front().body, "held");
  const auto dead = client_->receive(letters, {.wait = 0ms});
  ASSERT_EQ(dead->size(), 1u);
  EXPECT_EQ(dead->front().body, "dead");
  EXPECT_EQ(dead->front().group, "t");
  EXPECT_EQ(Client::attributes_of(dead->front().encoded_attributes).at(0).value, "x");
}

TEST_F(ProducerConsumerTest, CompletesWithTheRefusalOfAWrongKey) {
  create("orders");
  endpoint_.connection.secret = "another";
  std::atomic<Code> code = Code::ok;
  auto producer = Producer::start(
      {.endpoint = endpoint_, .queue = "orders"},
      [](void* context, std::uint64_t, const Client::Result<Client::Sent>& outcome) {
        *static_cast<std::atomic<Code>*>(context) = outcome ? Code::ok : outcome.error().code;
      },
      &code);
  ASSERT_TRUE(producer);
  ASSERT_TRUE(producer->send({.body = "m"}, 0).accepted());
  ASSERT_TRUE(producer->flush(Clock::now() + 30s));
  EXPECT_EQ(code, Code::unauthorized);
  EXPECT_EQ(producer->status().last_error.code, Code::unauthorized);
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// FIFO queues, dead letters and move tasks through the whole server, over the binary protocol. The
// queues are spread over two shards, so most moves cross shards.
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/net/live_server.h"

namespace pawl {
namespace {

using namespace std::chrono_literals;

class DeadLetterTest : public LiveClientTest {
 protected:
  void SetUp() override {
    LiveServerTest::SetUp();
    start();
    connect();
  }
  Client& client() { return *client_; }
  Client::Queue make(const std::string& name, std::vector<Client::QueueAttribute> attributes = {}) {
    auto queue = client().create_queue(name, attributes);
    EXPECT_TRUE(queue) << Client::name_of(queue.error().code);
    return *queue;
  }
  static std::string policy(const std::string& target, int count) {
    return R"({"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:)" + target +
           R"(","maxReceiveCount":)" + std::to_string(count) + "}";
  }
  // Receives until the queue returns no message.
  std::vector<Client::Message> drain(const Client::Queue& queue) {
    std::vector<Client::Message> all;
    for (;;) {
      auto some = client().receive(queue, {.max = 200, .wait = 0ms});
      EXPECT_TRUE(some);
      if (!some || some->empty()) return all;
      for (Client::Message& message : *some) all.push_back(std::move(message));
    }
  }
};

TEST_F(DeadLetterTest, AFifoQueueKeepsOrderAndRefusesDuplicatesAcrossARestart) {
  const std::vector<Client::QueueAttribute> fifo = {
      {"FifoQueue", "true"}
  };
  Client::Queue queue = make("q.fifo", fifo);
  for (int i = 0; i < 20; ++i) {
    const std::string body = std::to_string(i), group = "g" + std::to_string(i % 3);
    ASSERT_TRUE(client().send(queue, {.body = body, .group = group, .deduplication_id = body}));
  }
  restart();
  queue = *client().open_queue("q.fifo");
  const auto again = client().send(queue, {.body = "x", .group = "g0", .deduplication_id = "7"});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->sequence, 8u) << "the first one's";
  std::map<std::string, int> last;
  const std::vector<Client::Message> messages = drain(queue);
  EXPECT_EQ(messages.size(), 20u);
  for (const Client::Message& message : messages) {
    const std::string group(message.group);
    const int number = std::stoi(std::string(message.body));
    if (last.contains(group)) {
      EXPECT_LT(last[group], number) << group;
    }
    last[group] = number;
    EXPECT_EQ(message.deduplication_id, message.body);
  }
}

TEST_F(DeadLetterTest, AnExpiredMessageComesWithItsReason) {
  const Client::Queue dead = make("dead");
  const std::string to_dead = policy("dead", 1);
  const Client::Queue queue = make(
      "q",
      {
          {"x-dlq-on-expiry",   "true" },
          {"VisibilityTimeout", "0"    },
          {"RedrivePolicy",     to_dead}
  });
  ASSERT_TRUE(client().send(queue, {.body = "expires"}, {.time_to_live = 50ms}));
  const auto expired = client().receive(dead, {.max = 1, .wait = 20s});
  ASSERT_TRUE(expired && expired->size() == 1);
  EXPECT_EQ(expired->front().body, "expires");
  EXPECT_EQ(expired->front().origin, "000000000000/q");
  EXPECT_EQ(expired->front().dead_letter_reason, Client::DeadLetterReason::expired);

  const Client::Outgoing batch[] = {{.body = "spent"}, {.body = "spent too"}};
  ASSERT_TRUE(client().send(queue, batch, {.time_to_live = 14 * 24h}));
  EXPECT_EQ(drain(queue).size(), 2u);
  const std::vector<Client::Message> spent = drain(dead);
  ASSERT_EQ(spent.size(), 2u);
  for (const Client::Message& letter : spent)
    EXPECT_EQ(letter.dead_letter_reason, Client::DeadLetterReason::none);
  for (const auto time : {0ms, 14 * 24h + 1ms}) {
    const auto refused = client().send(queue, {.body = "m"}, {.time_to_live = time});
    EXPECT_EQ(refused.error().code, Client::Code::bad_attributes);
  }
}

TEST_F(DeadLetterTest, LettersGoOverShardsAndComeBackWithATask) {
  constexpr int sources = 6, each = 30;
  const Client::Queue dead = make("dead");
  std::vector<Client::Queue> queues;
  std::set<std::uint32_t> shards;
  const std::string to_dead = policy("dead", 1);
  for (int q = 0; q < sources; ++q) {
    const std::vector<Client::QueueAttribute> attributes = {
        {"VisibilityTimeout", "0"    },
        {"RedrivePolicy",     to_dead}
    };
    queues.push_back(make("source" + std::to_string(q), attributes));
    shards.insert(queues.back().shard);
  }
  EXPECT_EQ(shards.size(), 2u) << "names that lie on both shards";
  std::set<std::string> ids, bodies;
  for (int q = 0; q < sources; ++q) {
    for (int i = 0; i < each; ++i) {
      const std::string body = std::to_string(q) + "/" + std::to_string(i);
      const auto sent = client().send(queues[static_cast<std::size_t>(q)], body);
      ASSERT_TRUE(sent);
      ids.insert(Client::to_string(sent->id));
      bodies.insert(body);
    }
  }
  // Every message is received once with a timeout of 0; the next receive moves it.
  for (const Client::Queue& queue : queues) EXPECT_EQ(drain(queue).size(), std::size_t{each});
  EXPECT_EQ(client().counts(dead)->visible, std::uint64_t{sources * each})
      << "they are there when the receive that found nothing is answered";
  EXPECT_EQ(client().sources(dead)->names.size(), std::size_t{sources});

  const auto letters = client().receive(dead, {.max = 200, .wait = 0ms, .visibility = 0ms});
  ASSERT_TRUE(letters);
  for (const Client::Message& letter : *letters) {
    EXPECT_TRUE(ids.contains(Client::to_string(letter.id))) << "an id is kept";
    EXPECT_EQ(letter.receive_count, 2u);
    EXPECT_EQ(letter.origin, "000000000000/source" + std::string(letter.body.substr(0, 1)));
  }

  ASSERT_TRUE(client().start_move(dead));
  for (int tries = 0; tries < 500; ++tries) {
    if (client().moves(dead)->front().state != Client::Move::State::running) break;
    std::this_thread::sleep_for(10ms);
  }
  const Client::Move move = client().moves(dead)->front();
  EXPECT_EQ(move.state, Client::Move::State::completed);
  EXPECT_EQ(move.moved, std::uint64_t{sources * each});
  restart();
  EXPECT_EQ(client().moves(*client().open_queue("dead"))->front().moved,
            std::uint64_t{sources * each});
  for (int q = 0; q < sources; ++q) {
    const auto back = client().receive(*client().open_queue("source" + std::to_string(q)),
                                       {.max = 200, .wait = 0ms, .visibility = 30s});
    ASSERT_TRUE(back);
    EXPECT_EQ(back->size(), std::size_t{each});
    for (const Client::Message& message : *back) {
      EXPECT_EQ(message.receive_count, 1u) << "as if it were new";
      EXPECT_FALSE(ids.contains(Client::to_string(message.id)));
      EXPECT_EQ(bodies.erase(std::string(message.body)), 1u);
    }
  }
  EXPECT_TRUE(bodies.empty());
}

TEST_F(DeadLetterTest, AQueueOfDeadLettersThatIsGoneDestroysNothing) {
  const Client::Queue dead = make("dead");
  const std::string to_dead = policy("dead", 1);
  const std::vector<Client::QueueAttribute> attributes = {
      {"VisibilityTimeout", "0"    },
      {"RedrivePolicy",     to_dead}
  };
  const Client::Queue queue = make("source", attributes);
  ASSERT_TRUE(client().send(queue, "precious"));
  ASSERT_TRUE(client().delete_queue(dead));
  for (std::uint32_t count = 1; count <= 3; ++count) {
    const auto messages = client().receive(queue, {.wait = 0ms});
    ASSERT_TRUE(messages);
    ASSERT_EQ(messages->size(), 1u);
    EXPECT_EQ((*messages)[0].receive_count, count);
  }
}

// A server whose memory for messages is full of sends.
class LittleMemoryTest : public DeadLetterTest {
 protected:
  void SetUp() override {
    LiveServerTest::SetUp();
    options_.shards = 1;
    options_.memory = 32 << 20;
    start();
    connect();
  }
  // Sends twice as much as fits into memory: earlier messages are then only on the disk.
  void fill(const Client::Queue& queue) {
    const std::string body(200'000, 'x');
    for (int i = 0; i < 320; ++i) ASSERT_TRUE(client().send(queue, body)) << i;
  }
};

TEST_F(LittleMemoryTest, ADeadLetterIsNotInTheWayOfItsGroup) {
  const Client::Queue ballast = make("ballast");
  make("dead.fifo", {
                        {"FifoQueue", "true"}
  });
  const Client::Queue queue = make("q.fifo", {
                                                 {"FifoQueue", "true"},
                                                 {"VisibilityTimeout", "0"},
                                                 {"RedrivePolicy", policy("dead.fifo", 1)}
  });
  for (const char* body : {"dead", "next"})
    ASSERT_TRUE(client().send(queue, {.body = body, .group = "g", .deduplication_id = body}));
  ASSERT_EQ(client().receive(queue, {.wait = 0ms})->size(), 1u);
  fill(ballast);
  const auto messages = client().receive(queue, {.wait = 5s});
  ASSERT_TRUE(messages);
  ASSERT_EQ(messages->size(), 1u);
  EXPECT_EQ((*messages)[0].body, "next");
  const Client::Queue dead = *client().open_queue("dead.fifo");
  EXPECT_EQ(client().counts(dead)->visible, 1u);
}

TEST_F(DeadLetterTest, TagsAreSetAndTakenAway) {
  const Client::Queue queue = make("q");
  const std::vector<Client::QueueAttribute> first =
                                                {
                                                    {"a", "1"},
                                                    {"b", "2"}
  },
                                            second = {{"b", "3"}};
  ASSERT_TRUE(client().set_tags(queue, first));
  const std::vector<std::string_view> gone = {"a", "never there"};
  ASSERT_TRUE(client().set_tags(queue, second, gone));
  EXPECT_EQ(*client().tags(queue), (Client::Tags{
                                       {"b", "3"}
  }));
}

}  // namespace
}  // namespace pawl

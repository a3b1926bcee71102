// SPDX-License-Identifier: Apache-2.0
// Subscriptions against the whole server: messages pushed to clients, on both shards.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "proto/binary/frames.h"
#include "tests/net/live_server.h"

namespace pawl {
namespace {

using namespace std::chrono_literals;
using Code = Client::Code;
using SteadyClock = std::chrono::steady_clock;

// A connection with a subscription, and the messages that it got.
class Subscriber {
 public:
  explicit Subscriber(const Client::Options& options) : client_(Client::connect(options).value()) {}

  void open(const char* queue) { queue_ = client_.open_queue(queue).value(); }
  void subscribe(std::uint32_t credit, std::optional<std::chrono::milliseconds> visibility = {}) {
    ticket_ =
        client_.submit_subscribe(queue_, {.credit = credit, .visibility = visibility}).value();
  }
  // Takes completions, at most for ten seconds, until `done`.
  void drive(const std::function<bool()>& done) {
    const auto end = SteadyClock::now() + 10s;
    while (!done() && SteadyClock::now() < end) take(50ms);
    EXPECT_TRUE(done());
  }
  void take(std::chrono::microseconds timeout) {
    const auto count = client_.poll(completions_, timeout);
    if (!count) broken = true;
    for (const Client::Completion& completion : completions_) {
      if (completion.ticket == ticket_ && completion.more) {
        if (completion.messages.empty()) ++silent;
        sizes.push_back(completion.messages.size());
        for (const Client::MessageView& message : completion.messages) {
          bodies.emplace_back(message.body);
          receipts.push_back(message.receipt);
          counts.push_back(message.receive_count);
        }
      } else if (completion.ticket == ticket_) {
        ended = completion.error.code;
      } else {
        for (const Code code : completion.codes) codes.push_back(code);
      }
    }
  }
  void acknowledge(std::span<const Client::Receipt> which, std::uint32_t credit) {
    EXPECT_TRUE(client_.submit_acknowledge(queue_, ticket_, which, credit));
  }
  void unsubscribe() { EXPECT_TRUE(client_.submit_unsubscribe(ticket_)); }

  std::vector<std::string> bodies;
  std::vector<Client::Receipt> receipts;
  std::vector<std::size_t> sizes;  // of the DELIVERs
  std::vector<std::uint32_t> counts;
  std::vector<Code> codes;
  std::optional<Code> ended;
  int silent = 0;
  bool broken = false;

 private:
  Client client_;
  Client::Queue queue_;
  Client::Ticket ticket_ = 0;
  std::vector<Client::Completion> completions_;
};

class SubscriptionsTest : public LiveClientTest {
 protected:
  void begin() {
    start();
    connect();
    // Two queues on different shards: one of them is not the shard of a connection.
    for (int i = 0; queues_.size() < 2; ++i) {
      const std::string name = "q" + std::to_string(i);
      const auto queue = client_->create_queue(name);
      ASSERT_TRUE(queue);
      if (queues_.empty() || queue->shard != queues_[0].shard) {
        queues_.push_back(*queue);
        names_.push_back(name);
      }
    }
  }
  void send(std::size_t queue, int from, int count) {
    for (int i = from; i < from + count; ++i)
      ASSERT_TRUE(client_->send(queues_[queue], "m" + std::to_string(i)));
  }
  std::uint64_t in_flight(std::size_t queue) { return client_->counts(queues_[queue])->in_flight; }
  std::uint64_t visible(std::size_t queue) { return client_->counts(queues_[queue])->visible; }
  void await(const std::function<bool()>& done) {
    const auto end = SteadyClock::now() + 10s;
    while (!done() && SteadyClock::now() < end) std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(done());
  }

  std::vector<Client::Queue> queues_;
  std::vector<std::string> names_;
};

TEST_F(SubscriptionsTest, SendsWhatIsThereAndWhatComesUpToTheCredit) {
  begin();
  for (std::size_t queue = 0; queue < 2; ++queue) {
    SCOPED_TRACE(queue);
    Subscriber subscriber(client_options());
    subscriber.open(names_[queue].c_str());
    send(queue, 0, 3);
    subscriber.subscribe(5);
    subscriber.drive([&] { return subscriber.bodies.size() == 3; });
    send(queue, 3, 4);
    subscriber.drive([&] { return subscriber.bodies.size() == 5; });
    subscriber.take(100ms);
    EXPECT_EQ(subscriber.bodies, (std::vector<std::string>{"m0", "m1", "m2", "m3", "m4"}));
    EXPECT_EQ(visible(queue), 2u) << "there is no credit for them";
    subscriber.acknowledge(std::span(subscriber.receipts).first(4), 1);
    subscriber.drive([&] { return subscriber.bodies.size() == 6 && subscriber.codes.size() == 4; });
    EXPECT_EQ(subscriber.codes, std::vector<Code>(4, Code::ok));
    EXPECT_EQ(in_flight(queue), 2u);
    subscriber.acknowledge({}, 7);
    subscriber.drive([&] { return subscriber.bodies.size() == 7; });
    EXPECT_FALSE(subscriber.ended);
  }
}

// The receive waits already when the credit comes.
TEST_F(SubscriptionsTest, OneDeliverUsesAllCreditWhereTheQueueIsServed) {
  begin();
  Client::Options options = client_options();
  options.queue = names_[0];
  Subscriber subscriber(options);
  subscriber.open(names_[0].c_str());
  subscriber.subscribe(2);
  send(0, 0, 2);
  subscriber.drive([&] { return subscriber.bodies.size() == 2; });
  for (std::size_t i = 0; i < 2; ++i) {
    subscriber.acknowledge(std::span(subscriber.receipts).subspan(i, 1), 1);
    subscriber.drive([&] { return subscriber.codes.size() == i + 1; });
  }
  subscriber.sizes.clear();
  const std::array<Client::Outgoing, 2> batch = {
      {{.body = "a"}, {.body = "b"}}
  };
  ASSERT_TRUE(client_->submit_send(queues_[0], batch));
  ASSERT_TRUE(client_->flush());
  subscriber.drive([&] { return subscriber.bodies.size() == 4; });
  EXPECT_EQ(subscriber.sizes, (std::vector<std::size_t>{2}));
}

TEST_F(SubscriptionsTest, CreditDoesNotHideTheMemoryOfWaitingReceives) {
  options_.shards = 1;
  start();
  const auto memory = [&] {
    std::this_thread::sleep_for(1500ms);  // the metrics are a second old at most
    const int admin = connect_to(port(Protocol::admin));
    send_all(admin, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const std::string text = read_responses(admin, 1);
    ::close(admin);
    const std::string name = "pawl_memory_bytes{shard=\"0\",kind=\"connections\"} ";
    const std::size_t at = text.find(name);
    return at == text.npos ? 0 : std::stoull(text.substr(at + name.size()));
  };
  connect();
  const Client::Queue queue = client_->create_queue("q").value();
  std::vector<Client::Ticket> tickets;
  for (int i = 0; i < 200; ++i)
    tickets.push_back(client_->submit_subscribe(queue, {.credit = 1}).value());
  ASSERT_TRUE(client_->flush());
  const auto before = memory();
  EXPECT_GT(before, tickets.size() * sizeof(Request));
  for (const Client::Ticket ticket : tickets)
    ASSERT_TRUE(client_->submit_acknowledge(queue, ticket, {}, 1));
  ASSERT_TRUE(client_->flush());
  EXPECT_GE(memory(), before) << "each receive has space for one more message";
}

TEST_F(SubscriptionsTest, HundredsOfMessagesArriveOnceEach) {
  begin();
  for (std::size_t queue = 0; queue < 2; ++queue) {
    SCOPED_TRACE(queue);
    Subscriber a(client_options()), b(client_options());
    for (Subscriber* const one : {&a, &b}) {
      one->open(names_[queue].c_str());
      one->subscribe(100);
    }
    std::vector<std::string> bodies;
    for (int i = 0; i < 500; ++i) bodies.push_back("m" + std::to_string(i));
    std::vector<Client::Outgoing> batch;
    for (const std::string& body : bodies) batch.push_back({.body = body});
    ASSERT_TRUE(client_->send(queues_[queue], batch));
    const auto end = SteadyClock::now() + 10s;
    while (a.codes.size() + b.codes.size() < 500 && SteadyClock::now() < end) {
      for (Subscriber* const one : {&a, &b}) {
        one->take(1ms);
        if (one->receipts.empty()) continue;
        one->acknowledge(one->receipts, static_cast<std::uint32_t>(one->receipts.size()));
        one->receipts.clear();
      }
    }
    std::vector<std::string> got = a.bodies;
    got.insert(got.end(), b.bodies.begin(), b.bodies.end());
    std::ranges::sort(got);
    std::ranges::sort(bodies);
    EXPECT_EQ(got, bodies);
    EXPECT_EQ(visible(queue) + in_flight(queue), 0u);
  }
}

TEST_F(SubscriptionsTest, UnsubscribeEndsItWhetherItWaitsOrHasNoCredit) {
  begin();
  for (std::size_t queue = 0; queue < 2; ++queue) {
    SCOPED_TRACE(queue);
    Subscriber waiting(client_options()), paused(client_options());
    waiting.open(names_[queue].c_str());
    paused.open(names_[queue].c_str());
    paused.subscribe(1);
    send(queue, 0, 1);
    paused.drive([&] { return paused.bodies.size() == 1; });
    waiting.subscribe(10);
    waiting.take(50ms);
    waiting.unsubscribe();
    waiting.drive([&] { return waiting.ended.has_value(); });
    EXPECT_EQ(waiting.ended, Code::ok);
    paused.unsubscribe();
    paused.drive([&] { return paused.ended.has_value(); });
    EXPECT_EQ(paused.ended, Code::ok);
    send(queue, 1, 1);
    waiting.take(50ms);
    EXPECT_TRUE(waiting.bodies.empty());
    EXPECT_EQ(visible(queue), 1u);
  }
}

TEST_F(SubscriptionsTest, TheQueuesDeletionEndsIt) {
  begin();
  for (std::size_t queue = 0; queue < 2; ++queue) {
    Subscriber subscriber(client_options());
    subscriber.open(names_[queue].c_str());
    subscriber.subscribe(10);
    subscriber.take(50ms);
    ASSERT_TRUE(client_->delete_queue(queues_[queue]));
    subscriber.drive([&] { return subscriber.ended.has_value(); });
    EXPECT_EQ(subscriber.ended, Code::no_such_queue);
  }
}

TEST_F(SubscriptionsTest, ADisconnectEndsItAndLosesNothing) {
  begin();
  for (std::size_t queue = 0; queue < 2; ++queue) {
    SCOPED_TRACE(queue);
    {
      Subscriber waiting(client_options());
      waiting.open(names_[queue].c_str());
      waiting.subscribe(10);
      waiting.take(50ms);
    }
    {
      Subscriber paused(client_options());
      paused.open(names_[queue].c_str());
      paused.subscribe(1, 1000ms);
      send(queue, 0, 1);
      paused.drive([&] { return paused.bodies.size() == 1; });
    }
    // Nobody subscribes any more.
    send(queue, 1, 1);
    await([&] { return visible(queue) >= 1; });
    Subscriber next(client_options());
    next.open(names_[queue].c_str());
    next.subscribe(10);
    next.drive([&] { return next.bodies.size() == 2; });
    EXPECT_EQ(next.counts, (std::vector<std::uint32_t>{1, 2})) << "m1, and m0 after its timeout";
  }
}

TEST_F(SubscriptionsTest, AStoppingServerEndsIt) {
  begin();
  Subscriber subscriber(client_options());
  subscriber.open(names_[0].c_str());
  subscriber.subscribe(10);
  subscriber.take(50ms);
  server_->stop();
  subscriber.drive([&] { return subscriber.ended.has_value() || subscriber.broken; });
  EXPECT_EQ(subscriber.ended.value_or(Code::broken), Code::ok);
}

TEST_F(SubscriptionsTest, ADrainEndsItAndWaitsForTheAnswersToItsMessages) {
  begin();
  Subscriber waiting(client_options()), paused(client_options());
  waiting.open(names_[0].c_str());
  waiting.subscribe(10);
  paused.open(names_[1].c_str());
  paused.subscribe(1);
  for (const std::size_t queue : {0, 1}) send(queue, 0, 1);
  waiting.drive([&] { return waiting.bodies.size() == 1; });
  paused.drive([&] { return paused.bodies.size() == 1; });
  server_->begin_drain();
  waiting.drive([&] { return waiting.ended == Code::ok; });
  paused.drive([&] { return paused.ended == Code::ok; });
  waiting.acknowledge(waiting.receipts, 0);
  waiting.drive([&] { return waiting.codes.size() == 1 && waiting.broken; });
  std::this_thread::sleep_for(300ms);
  EXPECT_FALSE(paused.broken);
  EXPECT_FALSE(server_->drained()) << "a message is not answered";
  paused.acknowledge(paused.receipts, 1);
  paused.drive([&] { return paused.codes.size() == 1 && paused.broken; });
  EXPECT_EQ(waiting.codes[0], Code::ok);
  EXPECT_EQ(paused.codes[0], Code::ok);
  await([&] { return server_->drained(); });
  restart();
  for (const std::string& name : names_) {
    const auto counts = client_->counts(client_->open_queue(name).value());
    EXPECT_EQ(counts->visible + counts->in_flight, 0u);
  }
}

TEST_F(SubscriptionsTest, NoneBeginsWhileTheServerDrains) {
  begin();
  Subscriber holding(client_options());
  holding.open(names_[0].c_str());
  holding.subscribe(1);
  send(0, 0, 2);
  holding.drive([&] { return holding.bodies.size() == 1; });
  server_->begin_drain();
  holding.drive([&] { return holding.ended == Code::ok; });
  holding.subscribe(10);
  holding.ended.reset();
  holding.drive([&] { return holding.ended == Code::ok; });
  EXPECT_EQ(holding.bodies.size(), 1u) << "no message is pushed any more";
}

TEST_F(SubscriptionsTest, AnEmptyDeliverShowsThatTheServerIsAlive) {
  options_.times.subscription_silence = seconds(1);
  begin();
  Subscriber waiting(client_options()), paused(client_options());
  waiting.open(names_[0].c_str());
  paused.open(names_[1].c_str());
  waiting.subscribe(10);
  paused.subscribe(1);
  send(1, 0, 1);
  waiting.drive([&] { return waiting.silent >= 2; });
  paused.drive([&] { return paused.silent >= 2; });
  EXPECT_EQ(paused.bodies.size(), 1u);
}

TEST_F(SubscriptionsTest, NeedsAVisibilityTimeout) {
  begin();
  Subscriber subscriber(client_options());
  subscriber.open(names_[0].c_str());
  subscriber.subscribe(10);
  subscriber.take(20ms);
  const Client::QueueAttribute zero[] = {
      {"VisibilityTimeout", "0"}
  };
  ASSERT_TRUE(client_->set_attributes(queues_[0], zero));
  Subscriber late(client_options());
  late.open(names_[0].c_str());
  late.subscribe(10);
  late.drive([&] { return late.ended.has_value(); });
  EXPECT_EQ(late.ended, Code::invalid);
  send(0, 0, 1);
  subscriber.drive([&] { return subscriber.ended.has_value(); });
  EXPECT_EQ(subscriber.ended, Code::invalid);
}

// A subscription that waits must not keep a connection that has ended.
TEST_F(SubscriptionsTest, EndsWithAConnectionWhoseFramesAreInvalid) {
  begin();
  std::string hello, open, subscribe;
  put_all(hello, binary_magic, binary_major, binary_minor, std::uint32_t{0}, auth_none);
  put_short(hello, "bad");
  put_short(open, "");
  put_short(open, names_[0]);
  put_all(subscribe, std::uint32_t{10}, binary_queue_default, std::uint32_t{0});
  std::string bytes;
  const auto add = [&](BinaryOp op, std::uint32_t queue, std::string_view payload) {
    const std::size_t at =
        begin_frame(bytes, {.op = static_cast<std::uint8_t>(op), .correlation = 1, .queue = queue});
    bytes.append(payload);
    finish_frame(bytes, at);
  };
  add(BinaryOp::hello, 0, hello);
  add(BinaryOp::open_queue, 0, open);
  add(BinaryOp::subscribe, 1, subscribe);
  bytes.append(16, '\0');  // no frame is 0 bytes long
  const int fd = connect_to(port(Protocol::binary));
  ASSERT_EQ(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
  char piece[4096];
  ssize_t n = 0;
  while ((n = ::recv(fd, piece, sizeof piece, 0)) > 0) {
  }
  EXPECT_EQ(n, 0) << "the server closes the connection";
  ::close(fd);
}

// More bytes than the kernel buffers for a peer that does not read; nothing is lost.
TEST_F(SubscriptionsTest, APeerThatReadsLateGetsEverything) {
  begin();
  const std::string large(200'000, 'x');
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(client_->send(queues_[0], large));
  Subscriber subscriber(client_options());
  subscriber.open(names_[0].c_str());
  subscriber.subscribe(1000);
  subscriber.take(0ms);
  await([&] { return in_flight(0) > 0; });
  std::this_thread::sleep_for(300ms);
  EXPECT_LT(in_flight(0), 100u) << "the server takes no more messages than it can send";
  subscriber.drive([&] { return subscriber.bodies.size() == 100; });
  EXPECT_EQ(subscriber.counts, std::vector<std::uint32_t>(100, 1));
}

// In a FIFO queue the messages of a group follow when those before them are deleted.
TEST_F(SubscriptionsTest, KeepsTheOrderOfAGroup) {
  begin();
  const Client::QueueAttribute fifo[] = {
      {"FifoQueue",                 "true"},
      {"ContentBasedDeduplication", "true"}
  };
  const auto queue = client_->create_queue("f.fifo", fifo);
  ASSERT_TRUE(queue);
  Subscriber subscriber(client_options());
  subscriber.open("f.fifo");
  subscriber.subscribe(50);
  for (int i = 0; i < 20; ++i) {
    const std::string body = std::to_string(i);
    ASSERT_TRUE(client_->send(*queue, {.body = body, .group = "g"}));
  }
  const auto end = SteadyClock::now() + 10s;
  while (subscriber.codes.size() < 20 && SteadyClock::now() < end) {
    subscriber.take(5ms);
    if (subscriber.receipts.empty()) continue;
    subscriber.acknowledge(subscriber.receipts,
                           static_cast<std::uint32_t>(subscriber.receipts.size()));
    subscriber.receipts.clear();
  }
  ASSERT_EQ(subscriber.bodies.size(), 20u);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(subscriber.bodies[i], std::to_string(i));
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Consumers with threads of their own, and on the test's loop.
#include <gtest/gtest.h>
#include <pawl/consumer.h>
#include <poll.h>

#include <atomic>
#include <map>
#include <mutex>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "tests/client/client_fixture.h"

namespace pawl {
namespace {

using Clock = Consumer::Clock;
using Code = Client::Code;
using Fault = FakeServer::Fault;
using std::chrono_literals::operator""h;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

class ConsumerTest : public ClientToServer {
 protected:
  ConsumerTest() {
    options_.endpoint.connection = options();
    options_.endpoint.backoff_min = options_.endpoint.backoff_max = 1ms;
    options_.queue = "q";
  }
  Consumer start(Consumer::Handler handler) {
    auto made = Consumer::start(options_, std::move(handler));
    EXPECT_TRUE(made);
    return std::move(*made);
  }
  void send(int count) {
    std::vector<std::string> bodies;
    for (int i = 0; i < count; ++i) bodies.push_back("m" + std::to_string(i));
    std::vector<Client::Outgoing> batch;
    for (const std::string& body : bodies) batch.push_back({.body = body});
    ASSERT_TRUE(client_.send(queue_, batch));
  }

  Client client_ = connect();
  Client::Queue queue_ = client_.create_queue("q").value();
  Consumer::Options options_;
};

TEST_F(ConsumerTest, NamesTheOptionThatIsOutOfRange) {
  EXPECT_EQ(Consumer::problem_of(options_), "");
  const auto handler = [](const Client::MessageView&, Consumer::Token) { return Verdict::done(); };
  const auto problem = [&](auto change) {
    Consumer::Options changed = options_;
    change(changed);
    EXPECT_EQ(Consumer::start(changed, handler).error().code, Code::invalid);
    return Consumer::problem_of(changed);
  };
  EXPECT_EQ(problem([](auto& o) { o.concurrency = 0; }), "concurrency: 0; 1 to 100000");
  EXPECT_EQ(problem([](auto& o) { o.handler_threads = 0; }), "handler_threads: 0; 1 to 1024");
  EXPECT_EQ(problem([](auto& o) { o.wait = 21s; }), "wait: 21000 ms; 1000 to 20000 ms");
  EXPECT_EQ(problem([](auto& o) { o.visibility = -1ms; }), "visibility: -1 ms; 0 to 2592000000 ms");
  EXPECT_EQ(problem([](auto& o) { o.visibility = 721h; }),
            "visibility: 2595600000 ms; 0 to 2592000000 ms");
  EXPECT_EQ(problem([](auto& o) { o.release_timeout = -1ms; }),
            "release_timeout: -1 ms; at least 0 ms");
  EXPECT_EQ(problem([](auto& o) { o.dead_letter_queue = "q"; }),
            "dead_letter_queue: \"q\"; another queue than the source");
  EXPECT_EQ(problem([](auto& o) { o.queue = ""; }), "queue: 0 bytes; 1 to 80 bytes");
  EXPECT_EQ(Consumer::start(options_, Consumer::Handler()).error().code, Code::invalid);
}

TEST_F(ConsumerTest, HandlesEachMessageOnceInSeveralThreadsThroughDisconnects) {
  constexpr int count = 1000;
  send(count);
  std::mutex mutex;
  std::map<std::string, int> handled;
  server_.misbehave(BinaryOp::acknowledge, Fault::hang_up, 3);
  options_.handler_threads = 4;
  options_.concurrency = 50;
  Consumer consumer = start([&](const Client::MessageView& message, Consumer::Token) {
    const std::lock_guard lock(mutex);
    ++handled[std::string(message.body)];
    return Verdict::done();
  });
  while (consumer.status().deleted < count) std::this_thread::sleep_for(1ms);
  ASSERT_TRUE(consumer.drain(Clock::now() + 10s));
  const Consumer::Status status = consumer.status();
  EXPECT_EQ(status.received, static_cast<std::uint64_t>(count));
  EXPECT_EQ(status.refused, 0u);
  EXPECT_GE(status.connections, 4u);
  EXPECT_EQ(handled.size(), static_cast<std::size_t>(count));
  for (const auto& [body, times] : handled) EXPECT_EQ(times, 1) << body;
  EXPECT_EQ(client_.counts(queue_)->in_flight, 0u);
}

TEST_F(ConsumerTest, AcceptsTheVerdictOfAnotherThread) {
  send(3);
  std::mutex mutex;
  std::vector<Consumer::Token> tokens;
  std::counting_semaphore<> arrived(0);
  Consumer consumer = start([&](const Client::MessageView&, Consumer::Token token) {
    const std::lock_guard lock(mutex);
    tokens.push_back(token);
    arrived.release();
    return Verdict::later();
  });
  for (int i = 0; i < 3; ++i) arrived.acquire();
  std::thread([&] {
    const std::lock_guard lock(mutex);
    for (const Consumer::Token token : tokens) consumer.complete(token, Verdict::done());
  }).join();
  ASSERT_TRUE(consumer.drain(Clock::now() + 10s));
  EXPECT_EQ(consumer.status().deleted, 3u);
}

// One handler is running, two messages wait for the thread, and one has no verdict yet.
TEST_F(ConsumerTest, LetsHandlersEndAndReleasesTheRestWhenItIsDestroyed) {
  send(4);
  std::counting_semaphore<> running(0), leave(0);
  std::atomic<int> handled = 0;
  {
    Consumer consumer = start([&](const Client::MessageView&, Consumer::Token) {
      if (++handled == 1) return Verdict::later();
      running.release();
      leave.acquire();
      return Verdict::done();
    });
    running.acquire();
    while (consumer.status().received < 4) std::this_thread::sleep_for(1ms);
    std::thread letting([&] { leave.release(); });
    letting.join();
    // The thread may begin with one more message before the destructor discards the rest.
    leave.release(4);
  }
  const auto counts = client_.counts(queue_);
  EXPECT_EQ(counts->in_flight, 0u) << "nothing waits for its visibility timeout";
  EXPECT_EQ(counts->visible, 4u - static_cast<std::uint64_t>(handled - 1));
  EXPECT_GE(handled, 2);
}

TEST_F(ConsumerTest, ReportsADrainThatHadToRelease) {
  send(1);
  std::counting_semaphore<> arrived(0);
  Consumer consumer = start([&](const Client::MessageView&, Consumer::Token) {
    arrived.release();
    return Verdict::later();
  });
  arrived.acquire();
  const auto drained = consumer.drain(Clock::now() + 20ms);
  ASSERT_FALSE(drained);
  EXPECT_EQ(drained.error().code, Code::timed_out);
  EXPECT_EQ(consumer.status().released, 1u);
  EXPECT_EQ(client_.counts(queue_)->visible, 1u);
  EXPECT_TRUE(consumer.drain(Clock::now())) << "it is closed";
}

TEST_F(ConsumerTest, EveryThreadMayDrainAtTheSameTime) {
  for (int round = 0; round < 20; ++round) {
    send(3);
    Consumer consumer =
        start([](const Client::MessageView&, Consumer::Token) { return Verdict::done(); });
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        (void)consumer.status();
        consumer.complete({}, Verdict::done());
        EXPECT_TRUE(consumer.drain(Clock::now() + 60s));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

TEST_F(ConsumerTest, RefusesADrainByAHandler) {
  send(1);
  Consumer* self = nullptr;
  std::atomic<Code> refused = Code::ok;
  std::counting_semaphore<> started(0), arrived(0);
  Consumer consumer = start([&](const Client::MessageView&, Consumer::Token) {
    started.acquire();
    const auto drained = self->drain(Clock::now());
    refused = drained ? Code::ok : drained.error().code;
    arrived.release();
    return Verdict::done();
  });
  self = &consumer;
  started.release();
  arrived.acquire();
  EXPECT_EQ(refused, Code::busy);
}

TEST_F(ConsumerTest, RunsOnTheLoopOfItsCaller) {
  send(100);
  int handled = 0;
  Consumer* self = nullptr;
  Code drained = Code::ok;
  auto consumer =
      Consumer::create_on_loop(options_, [&](const Client::MessageView&, Consumer::Token token) {
        if (++handled % 2 == 0) return Verdict::done();
        const auto refused = self->drain(Clock::now());
        drained = refused ? Code::ok : refused.error().code;
        self->complete(token, Verdict::done());
        return Verdict::later();
      });
  ASSERT_TRUE(consumer);
  self = &*consumer;
  server_.misbehave(BinaryOp::receive, Fault::hang_up, 1);
  while (consumer->status().deleted < 100) {
    const auto left = consumer->next_deadline() - Clock::now();
    const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(left).count() + 1;
    pollfd entry{.fd = consumer->descriptor(), .events = POLLIN, .revents = 0};
    ::poll(&entry, 1, static_cast<int>(std::clamp<std::int64_t>(limit, 0, 10'000)));
    consumer->on_ready(Clock::now());
  }
  EXPECT_EQ(handled, 100);
  EXPECT_EQ(drained, Code::busy);
  EXPECT_TRUE(consumer->drain(Clock::now() + 10s));
  consumer->on_ready(Clock::now());
  EXPECT_EQ(client_.counts(queue_)->visible, 0u);
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Producers with a thread of their own, and on the test's loop.
#include <gtest/gtest.h>
#include <pawl/producer.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/client/client_fixture.h"
#include "tests/client/outcomes.h"

namespace pawl {
namespace {

using Clock = Producer::Clock;
using Code = Client::Code;
using Fault = FakeServer::Fault;
using Status = SendResult::Status;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

class ProducerTest : public ClientToServer {
 protected:
  ProducerTest() {
    options_.endpoint.connection = options();
    options_.endpoint.backoff_min = options_.endpoint.backoff_max = 1ms;
    options_.queue = "q";
    options_.memory_limit = 1 << 20;
  }
  Producer start() {
    auto made = Producer::start(options_, &Outcomes::on_complete, &outcomes_);
    EXPECT_TRUE(made);
    return std::move(*made);
  }

  Client client_ = connect();
  Client::Queue queue_ = client_.create_queue("q").value();
  Producer::Options options_;
  Outcomes outcomes_;  // it outlives the Producer
};

TEST_F(ProducerTest, NamesTheOptionThatIsOutOfRange) {
  EXPECT_EQ(Producer::problem_of(options_), "");
  const auto problem = [&](auto change) {
    Producer::Options changed = options_;
    change(changed);
    EXPECT_EQ(Producer::start(changed, &Outcomes::on_complete, nullptr).error().code,
              Code::invalid);
    return Producer::problem_of(changed);
  };
  EXPECT_EQ(problem([](auto& o) { o.memory_limit = 1000; }),
            "memory_limit: 1000 bytes; 1048576 to 68719476736 bytes");
  EXPECT_EQ(problem([](auto& o) { o.linger = -1ms; }), "linger: -1000 us; 0 to 60000000 us");
  EXPECT_EQ(problem([](auto& o) { o.deadline = 0ms; }), "deadline: 0 ms; 1 to 43200000 ms");
  EXPECT_EQ(problem([](auto& o) { o.queue = ""; }), "queue: 0 bytes; 1 to 80 bytes");
  EXPECT_EQ(Producer::start(options_, nullptr, nullptr).error().code, Code::invalid);
}

TEST_F(ProducerTest, CompletesTheMessagesOfManyThreadsOnceEach) {
  constexpr std::uint64_t threads = 4, each = 3000;
  {
    Producer producer = start();
    server_.misbehave(BinaryOp::send, Fault::hang_up, 3);
    std::vector<std::thread> senders;
    std::atomic<std::uint64_t> full = 0;
    for (std::uint64_t thread = 0; thread < threads; ++thread) {
      senders.emplace_back([&, thread] {
        for (std::uint64_t i = 0; i < each; ++i) {
          const std::uint64_t cookie = thread * each + i;
          const std::string body(400, 'b');
          while (!producer.send({.body = body}, cookie).accepted()) {
            ++full;
            std::this_thread::yield();
          }
        }
      });
    }
    for (std::thread& sender : senders) sender.join();
    EXPECT_GT(full, 0u) << "the messages exceed the memory";
    ASSERT_TRUE(producer.flush(Clock::now() + 10s));
    EXPECT_EQ(outcomes_.size(), threads * each) << "a flush waits for all";
    const Producer::Status status = producer.status();
    EXPECT_EQ(status.accepted, threads * each);
    EXPECT_TRUE(status.connected);
  }
  for (std::uint64_t cookie = 0; cookie < threads * each; ++cookie)
    ASSERT_EQ(outcomes_.code(cookie), Code::ok);
  EXPECT_EQ(client_.counts(queue_)->visible, threads * each);
}

TEST_F(ProducerTest, FlushesLingeringMessagesAndReportsItsOwnDeadline) {
  options_.linger = 60s;
  Producer producer = start();
  ASSERT_TRUE(producer.flush(Clock::now() + 10s)) << "there is nothing to wait for";
  ASSERT_TRUE(producer.send({.body = "b"}, 0).accepted());
  ASSERT_TRUE(producer.flush(Clock::now() + 10s));
  EXPECT_EQ(outcomes_.code(0), Code::ok);
  server_.misbehave(BinaryOp::send, Fault::say_nothing);
  ASSERT_TRUE(producer.send({.body = "b"}, 1).accepted());
  const auto late = producer.flush(Clock::now() + 20ms);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::timed_out);
  EXPECT_EQ(outcomes_.size(), 1u);
}

TEST_F(ProducerTest, EveryThreadMayDrainAtTheSameTime) {
  for (std::uint64_t round = 0; round < 20; ++round) {
    Producer producer = start();
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        (void)producer.send({.body = "m"}, 4 * round + i);
        (void)producer.status();
        if (i % 2 == 0) {
          EXPECT_TRUE(producer.flush(Clock::now() + 60s));
        }
        EXPECT_TRUE(producer.drain(Clock::now() + 60s));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

TEST_F(ProducerTest, IsRefusedInAChildOfForkAndWorksOnInTheParent) {
  Producer producer = start();
  ASSERT_TRUE(producer.send({.body = "before"}, 0).accepted());
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const SendResult refused = producer.send({.body = "child"}, 1);
    const bool clear = refused.status == SendResult::Status::invalid &&
                       refused.text.find("fork()") != std::string::npos;
    const auto drained = producer.drain(Clock::now() + 60s);
    const bool invalid = !drained && drained.error().code == Code::invalid;
    {
      const Producer gone = std::move(producer);
    }
    ::_exit(clear && invalid ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ASSERT_TRUE(producer.send({.body = "after"}, 2).accepted());
  EXPECT_TRUE(producer.drain(Clock::now() + 60s));
  EXPECT_EQ(client_.counts(queue_)->visible, 2u);
}

TEST_F(ProducerTest, DrainsAndCompletesWhatIsLeft) {
  Producer producer = start();
  ASSERT_TRUE(producer.send({.body = "b"}, 0).accepted());
  ASSERT_TRUE(producer.drain(Clock::now() + 10s));
  EXPECT_EQ(outcomes_.code(0), Code::ok);
  EXPECT_EQ(producer.send({.body = "b"}, 1).status, Status::closed);
  EXPECT_FALSE(producer.status().connected);
  EXPECT_EQ(producer.status().connections, 1u);
  EXPECT_EQ(producer.status().completed, 1u);

  Producer silent = start();
  server_.misbehave(BinaryOp::send, Fault::say_nothing);
  ASSERT_TRUE(silent.send({.body = "b"}, 2).accepted());
  const auto drained = silent.drain(Clock::now() + 20ms);
  ASSERT_FALSE(drained);
  EXPECT_EQ(drained.error().code, Code::timed_out);
  ASSERT_TRUE(outcomes_.wait_for(2)) << "completed before drain() returned";
  EXPECT_NE(outcomes_.code(2), Code::ok);
}

TEST_F(ProducerTest, CompletesWhatIsLeftWhenItIsDestroyed) {
  options_.endpoint.connection.port = 1;
  {
    Producer producer = start();
    for (std::uint64_t cookie = 0; cookie < 3; ++cookie)
      ASSERT_TRUE(producer.send({.body = "b"}, cookie).accepted());
  }
  for (std::uint64_t cookie = 0; cookie < 3; ++cookie)
    EXPECT_EQ(outcomes_.code(cookie), Code::closed);
}

// A completion sends the next message, and may not flush.
TEST_F(ProducerTest, AllowsACompletionToSend) {
  struct Chain {
    Producer* producer = nullptr;
    std::atomic<std::uint64_t> completed = 0;
    std::atomic<Code> flushed = Code::ok;
  } chain;
  auto producer = Producer::start(
      options_,
      [](void* context, std::uint64_t cookie, const Client::Result<Client::Sent>& outcome) {
        auto& self = *static_cast<Chain*>(context);
        EXPECT_TRUE(outcome);
        const auto flushed = self.producer->flush(Clock::now() + 10s);
        self.flushed = flushed ? Code::ok : flushed.error().code;
        if (cookie < 100) {
          EXPECT_TRUE(self.producer->send({.body = "next"}, cookie + 1).accepted());
        }
        ++self.completed;
      },
      &chain);
  ASSERT_TRUE(producer);
  chain.producer = &*producer;
  ASSERT_TRUE(producer->send({.body = "first"}, 0).accepted());
  while (chain.completed < 101) ASSERT_TRUE(producer->flush(Clock::now() + 10s));
  EXPECT_EQ(chain.flushed, Code::busy);
}

TEST_F(ProducerTest, RunsOnTheLoopOfItsCaller) {
  auto producer = Producer::create_on_loop(options_, &Outcomes::on_complete, &outcomes_);
  ASSERT_TRUE(producer);
  const int descriptor = producer->descriptor();
  std::uint64_t sent = 0;
  server_.misbehave(BinaryOp::send, Fault::hang_up, 2);
  while (outcomes_.size() < 100) {
    if (sent < 100) {
      ASSERT_TRUE(producer->send({.body = "b"}, sent++).accepted());
    }
    const auto left = producer->next_deadline() - Clock::now();
    const bool now = left <= Clock::duration(0) || sent < 100;
    pollfd entry{.fd = producer->descriptor(), .events = POLLIN, .revents = 0};
    const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(left).count() + 1;
    ::poll(&entry, 1, now ? 0 : static_cast<int>(std::min<std::int64_t>(limit, 10'000)));
    producer->on_ready(Clock::now());
  }
  for (std::uint64_t cookie = 0; cookie < 100; ++cookie)
    EXPECT_EQ(outcomes_.code(cookie), Code::ok);
  EXPECT_EQ(producer->descriptor(), descriptor) << "connections come and go behind it";
  ASSERT_TRUE(producer->send({.body = "b"}, 100).accepted());
  ASSERT_TRUE(producer->flush(Clock::now() + 10s));
  EXPECT_EQ(outcomes_.code(100), Code::ok);
  ASSERT_TRUE(producer->drain(Clock::now() + 10s));
  EXPECT_EQ(producer->send({.body = "b"}, 101).status, Status::closed);
}

// A loop that sleeps learns of a message that another thread sends.
TEST_F(ProducerTest, WakesTheLoopOfItsCaller) {
  auto producer = Producer::create_on_loop(options_, &Outcomes::on_complete, &outcomes_);
  ASSERT_TRUE(producer);
  while (!producer->status().connected) producer->on_ready(Clock::now());
  std::thread other([&] { EXPECT_TRUE(producer->send({.body = "b"}, 0).accepted()); });
  while (outcomes_.size() < 1) {
    pollfd entry{.fd = producer->descriptor(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&entry, 1, 10'000), 1);
    producer->on_ready(Clock::now());
  }
  other.join();
}

}  // namespace
}  // namespace pawl

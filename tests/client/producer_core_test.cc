// SPDX-License-Identifier: Apache-2.0
// Batches, retries and deadlines of a Producer, turn by turn.
#include "net/client/producer_core.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/client/client_fixture.h"
#include "tests/client/outcomes.h"

namespace pawl::client {
namespace {

using Code = Client::Code;
using Fault = FakeServer::Fault;
using Status = SendResult::Status;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""us;

class ProducerCoreTest : public ClientToServer {
 protected:
  ProducerCoreTest() {
    options_.endpoint.connection = options();
    options_.endpoint.backoff_min = options_.endpoint.backoff_max = 1ms;
    options_.queue = "q";
    options_.memory_limit = 4 << 20;
  }
  Client::Queue create(const char* name, bool by_content = false) {
    const Client::QueueAttribute fifo[] = {
        {"FifoQueue",                 "true"                       },
        {"ContentBasedDeduplication", by_content ? "true" : "false"}
    };
    const bool is_fifo = std::string_view(name).ends_with(".fifo");
    options_.queue = name;
    const auto queue = is_fifo ? client_.create_queue(name, fifo) : client_.create_queue(name);
    EXPECT_TRUE(queue);
    return *queue;
  }
  void make() { core_.emplace(options_, &Outcomes::on_complete, &outcomes_, Clock::now()); }
  // Takes turns, at most for ten seconds, until `done`.
  void drive(const std::function<bool()>& done) {
    const auto end = Clock::now() + 10s;
    while (!done()) {
      ASSERT_LT(Clock::now(), end);
      core_->turn(Clock::now());
      if (!done()) core_->readiness().wait_until(std::min(core_->deadline(), end));
    }
  }
  void drive_up() {
    drive([&] { return core_->intake().status().connected; });
  }
  void drive_completions(std::size_t count) {
    drive([&] { return outcomes_.size() >= count; });
  }
  SendResult send(std::uint64_t cookie, std::string_view group = {}) {
    return core_->intake().send({.body = "message " + std::to_string(cookie), .group = group},
                                cookie);
  }
  std::vector<Client::Message> receive_all(const Client::Queue& queue) {
    auto received = client_.receive(queue, {.max = 1000, .wait = 0ms});
    EXPECT_TRUE(received);
    return std::move(*received);
  }

  Client client_ = connect();
  Producer::Options options_;
  Outcomes outcomes_;
  std::optional<ProducerCore> core_;
};

TEST_F(ProducerCoreTest, SendsAtOnceWhenIdleAndGathersWhileARequestIsInFlight) {
  const Client::Queue queue = create("q");
  make();
  drive_up();
  const std::uint64_t before = server_.frames();
  ASSERT_TRUE(send(0).accepted());
  core_->turn(Clock::now());
  for (std::uint64_t cookie = 1; cookie < 100; ++cookie) ASSERT_TRUE(send(cookie).accepted());
  drive_completions(100);
  EXPECT_EQ(server_.frames() - before, 2u) << "one message, then a batch";
  for (std::uint64_t cookie = 0; cookie < 100; ++cookie)
    EXPECT_EQ(outcomes_.code(cookie), Code::ok);
  const auto received = receive_all(queue);
  ASSERT_EQ(received.size(), 100u);
  for (std::size_t i = 0; i < received.size(); ++i)
    EXPECT_EQ(received[i].body, "message " + std::to_string(i));
}

TEST_F(ProducerCoreTest, LingersForABatchUnlessAFlushWaits) {
  create("q");
  options_.linger = 30s;
  make();
  drive_up();
  ASSERT_TRUE(send(0).accepted());
  const auto now = Clock::now();
  core_->turn(now);
  EXPECT_GT(core_->deadline(), now + 20s);
  EXPECT_LE(core_->deadline(), now + 30s);
  const std::uint64_t before = server_.frames();
  ASSERT_TRUE(send(1).accepted());
  core_->turn(Clock::now() + 40s);
  drive_completions(2);
  EXPECT_EQ(server_.frames() - before, 1u);
  ASSERT_TRUE(send(2).accepted());
  core_->intake().request_flush();
  drive_completions(3);
  core_->intake().end_flush();
  for (std::uint64_t cookie = 3; cookie < 3 + 1024; ++cookie) ASSERT_TRUE(send(cookie).accepted());
  drive_completions(3 + 1024);
}

TEST_F(ProducerCoreTest, SendsFullBatchesUpToTheCredit) {
  const Client::Queue queue = create("q");
  make();
  drive_up();
  const std::string body(60'000, 'b');
  std::uint64_t count = 0;
  while (core_->intake().send({.body = body}, count).accepted()) ++count;
  ASSERT_GT(count, 40u);
  drive_completions(count);
  EXPECT_EQ(client_.counts(queue)->visible, count);
  EXPECT_EQ(core_->intake().status().completed, count);
}

TEST_F(ProducerCoreTest, GivesFifoMessagesTheirOwnDeduplicationIds) {
  const Client::Queue queue = create("q.fifo");
  make();
  ASSERT_TRUE(send(0, "g").accepted());
  ASSERT_TRUE(
      core_->intake().send({.body = "a", .group = "g", .deduplication_id = "mine"}, 1).accepted());
  const Client::Attribute attributes[] = {
      {"A", "String", "x"}
  };
  ASSERT_TRUE(
      core_->intake().send({.body = "b", .attributes = attributes, .group = "g"}, 2).accepted());
  drive_completions(3);
  const auto received = receive_all(queue);
  ASSERT_EQ(received.size(), 3u);
  EXPECT_GT(received[0].deduplication_id.size(), 24u);
  EXPECT_EQ(received[1].deduplication_id, "mine");
  EXPECT_EQ(received[2].deduplication_id.substr(0, 25), received[0].deduplication_id.substr(0, 25));
  EXPECT_NE(received[2].deduplication_id, received[0].deduplication_id);
  EXPECT_EQ(Client::attributes_of(received[2].encoded_attributes).at(0).value, "x");
  EXPECT_EQ(received[2].body, "b");
  EXPECT_EQ(received[2].group, "g");
}

TEST_F(ProducerCoreTest, LeavesDeduplicationByContentToTheQueue) {
  const Client::Queue queue = create("q.fifo", true);
  make();
  ASSERT_TRUE(core_->intake().send({.body = "same", .group = "g"}, 0).accepted());
  ASSERT_TRUE(core_->intake().send({.body = "same", .group = "g"}, 1).accepted());
  drive_completions(2);
  EXPECT_EQ(receive_all(queue).size(), 1u);
}

// The server processes the batch, and its answer is lost.
TEST_F(ProducerCoreTest, SendsUnacknowledgedMessagesAgainInOrderAndOnceOnAFifoQueue) {
  const Client::Queue queue = create("q.fifo");
  make();
  drive_up();
  server_.misbehave(BinaryOp::send, Fault::lose_answer, 2);
  for (std::uint64_t cookie = 0; cookie < 10; ++cookie) ASSERT_TRUE(send(cookie, "g").accepted());
  core_->turn(Clock::now());
  for (std::uint64_t cookie = 10; cookie < 20; ++cookie) ASSERT_TRUE(send(cookie, "g").accepted());
  drive_completions(20);
  EXPECT_EQ(core_->intake().status().connections, 3u);
  const auto received = receive_all(queue);
  ASSERT_EQ(received.size(), 20u);
  for (std::size_t i = 0; i < received.size(); ++i) {
    EXPECT_EQ(received[i].body, "message " + std::to_string(i));
    EXPECT_EQ(outcomes_.code(i), Code::ok);
  }
}

// Several batches are in flight, and the answers of some are lost.
TEST_F(ProducerCoreTest, SendsUnacknowledgedMessagesAgainOnceOnAStandardQueue) {
  const Client::Queue queue = create("q");
  options_.linger = 1us;
  make();
  drive_up();
  server_.misbehave(BinaryOp::send, Fault::lose_answer, 5);
  for (std::uint64_t cookie = 0; cookie < 20; ++cookie) {
    ASSERT_TRUE(send(cookie).accepted());
    if (cookie % 3 == 0) core_->turn(Clock::now());
  }
  drive_completions(20);
  EXPECT_EQ(core_->intake().status().connections, 6u);
  std::set<std::string> bodies;
  for (const Client::Message& message : receive_all(queue)) {
    EXPECT_TRUE(bodies.emplace(message.body).second) << message.body;
  }
  EXPECT_EQ(bodies.size(), 20u);
  for (std::uint64_t cookie = 0; cookie < 20; ++cookie) EXPECT_EQ(outcomes_.code(cookie), Code::ok);
}

// A refused batch goes back before later ones: the numbers that wait have a gap.
TEST_F(ProducerCoreTest, NumbersMessagesAroundAGap) {
  const Client::Queue queue = create("q");
  options_.linger = 1us;
  make();
  drive_up();
  std::uint64_t cookie = 0;
  for (int round = 0; round < 20; ++round) {
    server_.refuse(Op::send, Errc::no_memory, 1);
    for (int i = 0; i < 4; ++i) {
      drive([&] {
        core_->intake().throttle(Clock::time_point::min());
        return send(cookie).accepted();
      });
      ++cookie;
      core_->turn(Clock::now());
    }
    drive_completions(cookie);
  }
  std::set<std::string> bodies;
  for (const Client::Message& message : receive_all(queue)) bodies.emplace(message.body);
  EXPECT_EQ(bodies.size(), cookie);
}

TEST_F(ProducerCoreTest, SendsToAServerThatDoesNotKnowProducers) {
  const Client::Queue queue = create("q");
  server_.limit_features(~feature_send_once);
  make();
  drive_up();
  server_.misbehave(BinaryOp::send, Fault::lose_answer, 1);
  ASSERT_TRUE(send(0).accepted());
  drive_completions(1);
  EXPECT_EQ(outcomes_.code(0), Code::ok);
  EXPECT_EQ(receive_all(queue).size(), 2u) << "it was accepted twice";
}

TEST_F(ProducerCoreTest, RetriesWhatTheServerCannotTakeNowAndThrottlesMeanwhile) {
  create("q.fifo");
  make();
  drive_up();
  server_.refuse(Op::send, Errc::no_memory, 2);
  ASSERT_TRUE(send(0, "g").accepted());
  core_->turn(Clock::now());
  ASSERT_TRUE(send(1, "g").accepted());
  drive([&] { return send(2, "g").status == Status::throttled; });
  EXPECT_GT(send(2, "g").retry_after, 0ms);
  EXPECT_EQ(outcomes_.size(), core_->intake().status().completed);
  drive([&] {
    core_->intake().throttle(Clock::time_point::min());
    return outcomes_.code(0) == Code::ok && outcomes_.code(1) == Code::ok;
  });
  EXPECT_EQ(outcomes_.order()[0], 0u) << "the retried message is still the first";
}

TEST_F(ProducerCoreTest, CompletesWhatTheServerRefusesForGood) {
  create("q");
  make();
  ASSERT_TRUE(core_->intake().send({.body = std::string_view("\0", 1)}, 0).accepted());
  ASSERT_TRUE(send(1).accepted());
  drive_completions(2);
  EXPECT_EQ(outcomes_.code(0), Code::bad_text);
  EXPECT_EQ(outcomes_.code(1), Code::ok);
  server_.refuse(Op::send, Errc::message_numbers_used_up, 1);
  ASSERT_TRUE(send(2).accepted());
  drive_completions(3);
  EXPECT_EQ(outcomes_.code(2), Code::message_numbers_used_up);
  ASSERT_TRUE(send(3).accepted());
  drive_completions(4);
  EXPECT_EQ(outcomes_.code(3), Code::ok) << "a refusal of one is none of all";
}

TEST_F(ProducerCoreTest, ReportsAQueueThatDoesNotExistAndFindsItLater) {
  options_.queue = "later";
  make();
  ASSERT_TRUE(send(0).accepted());
  drive_completions(1);
  EXPECT_EQ(outcomes_.code(0), Code::no_such_queue);
  EXPECT_EQ(core_->intake().status().last_error.code, Code::no_such_queue);
  Client::Queue queue = create("later");
  drive_up();
  ASSERT_TRUE(send(1).accepted());
  drive_completions(2);
  EXPECT_EQ(outcomes_.code(1), Code::ok);
  ASSERT_TRUE(client_.delete_queue(queue));
  ASSERT_TRUE(send(2).accepted());
  drive_completions(3);
  EXPECT_EQ(outcomes_.code(2), Code::no_such_queue);
  create("later");
  drive([&] { return core_->intake().status().connections == 2; });
  ASSERT_TRUE(send(3).accepted());
  drive_completions(4);
  EXPECT_EQ(outcomes_.code(3), Code::ok) << "the new queue of this name";
}

TEST_F(ProducerCoreTest, GivesUpAtTheDeadline) {
  options_.endpoint.connection.port = 1;
  options_.deadline = 20ms;
  make();
  ASSERT_TRUE(send(0).accepted());
  ASSERT_TRUE(send(1).accepted());
  drive_completions(2);
  EXPECT_EQ(outcomes_.code(0), Code::timed_out);
  EXPECT_EQ(outcomes_.code(1), Code::timed_out);
  EXPECT_EQ(core_->intake().status().last_error.code, Code::unreachable);
  EXPECT_EQ(core_->intake().status().last_error.system, ECONNREFUSED);
}

TEST_F(ProducerCoreTest, SurvivesAServerThatMisbehaves) {
  create("q");
  options_.endpoint.connection.checksum = true;
  options_.endpoint.connection.request_timeout = 50ms;
  make();
  std::uint64_t cookie = 0;
  for (const Fault fault : {Fault::hang_up, Fault::say_nothing, Fault::garbage,
                            Fault::foreign_answer, Fault::flipped_bit}) {
    SCOPED_TRACE(static_cast<int>(fault));
    server_.misbehave(BinaryOp::send, fault, 1);
    ASSERT_TRUE(send(cookie).accepted());
    drive_completions(++cookie);
    EXPECT_EQ(outcomes_.code(cookie - 1), Code::ok);
  }
  EXPECT_EQ(core_->intake().status().connections, 6u);
}

TEST_F(ProducerCoreTest, CompletesWhatIsLeftWhenItCloses) {
  create("q");
  make();
  drive_up();
  server_.misbehave(BinaryOp::send, Fault::say_nothing);
  ASSERT_TRUE(send(0).accepted());
  core_->turn(Clock::now());
  ASSERT_TRUE(send(1).accepted());
  core_->turn(Clock::now());
  ASSERT_TRUE(send(2).accepted());
  core_->close();
  EXPECT_EQ(outcomes_.code(0), Code::broken) << "in flight: its outcome is unknown";
  EXPECT_EQ(outcomes_.code(1), Code::closed);
  EXPECT_EQ(outcomes_.code(2), Code::closed);
  EXPECT_EQ(send(3).status, Status::closed);
  core_->close();
  EXPECT_EQ(outcomes_.size(), 3u);
}

}  // namespace
}  // namespace pawl::client

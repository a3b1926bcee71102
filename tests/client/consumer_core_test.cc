// SPDX-License-Identifier: Apache-2.0
// Verdicts, extensions and reconnects of a Consumer, turn by turn. Time is handed in.
#include "net/client/consumer_core.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/client/client_fixture.h"

namespace pawl::client {
namespace {

using Code = Client::Code;
using Fault = FakeServer::Fault;
using Mode = Verdicts::Mode;
using std::chrono_literals::operator""h;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

class ConsumerCoreTest : public ClientToServer {
 protected:
  ConsumerCoreTest() {
    options_.endpoint.connection = options();
    options_.endpoint.backoff_min = options_.endpoint.backoff_max = 1ms;
    options_.queue = "q";
  }
  void make(std::function<Verdict(const Client::MessageView&)> decide) {
    core_.emplace(
        options_,
        [this, decide](const Client::MessageView& message, Consumer::Token token) {
          handled_.emplace_back(message.body);
          tokens_.push_back(token);
          receipts_.push_back(message.receipt);
          return decide(message);
        },
        Clock::now());
  }
  void make(Verdict verdict) {
    make([verdict](const Client::MessageView&) { return verdict; });
  }
  Consumer::Status status() const { return core_->verdicts().status(); }
  // Takes turns, at most for ten seconds, until `done`.
  void drive(const std::function<bool()>& done) {
    const auto end = Clock::now() + 10s;
    while (!done()) {
      ASSERT_LT(Clock::now(), end);
      core_->turn(Clock::now());
      if (!done()) core_->readiness().wait_until(std::min(core_->deadline(), end));
    }
  }
  void drive_handled(std::size_t count) {
    drive([&] { return handled_.size() >= count; });
  }
  void drive_idle() {
    drive([&] { return status().under_way == 0; });
  }
  void send(int count) {
    for (int i = 0; i < count; ++i) ASSERT_TRUE(client_.send(queue_, "m" + std::to_string(i)));
  }
  // A message was handled, and its delete refused because its receipt had expired.
  void drive_expired() {
    send(1);
    options_.concurrency = 1;
    options_.visibility = 30s;
    server_.refuse(Op::delete_message, Errc::receipt_expired, 1);
    make(Verdict::done());
    drive_handled(1);
    for (const auto start = Clock::now(); Clock::now() < start + 50ms;) core_->turn(Clock::now());
    EXPECT_EQ(status().refused, 0u);
    EXPECT_EQ(status().under_way, 1u);
  }
  std::uint64_t total() {
    const auto counts = client_.counts(queue_);
    return counts->visible + counts->in_flight + counts->delayed;
  }

  Client client_ = connect();
  Client::Queue queue_ = client_.create_queue("q").value();
  Consumer::Options options_;
  std::vector<std::string> handled_;
  std::vector<Consumer::Token> tokens_;
  std::vector<Client::Receipt> receipts_;
  std::optional<ConsumerCore> core_;
};

TEST_F(ConsumerCoreTest, DeletesWhatIsDoneInBatches) {
  send(100);
  make(Verdict::done());
  drive([&] { return status().connected; });
  const std::uint64_t before = server_.frames();
  drive([&] { return status().deleted == 100; });
  EXPECT_LE(server_.frames() - before, 5u) << "a receive, a delete, and the next receive";
  EXPECT_EQ(handled_.size(), 100u);
  EXPECT_EQ(handled_[99], "m99");
  EXPECT_EQ(status().received, 100u);
  EXPECT_EQ(status().under_way, 0u);
  EXPECT_EQ(total(), 0u);
}

TEST_F(ConsumerCoreTest, HasNoMoreMessagesUnderWayThanItMay) {
  send(10);
  options_.concurrency = 3;
  make(Verdict::later());
  drive_handled(3);
  const std::uint64_t before = server_.frames();
  for (int i = 0; i < 20; ++i) core_->turn(Clock::now());
  EXPECT_EQ(server_.frames(), before) << "there is no free slot";
  EXPECT_EQ(status().under_way, 3u);
  core_->verdicts().complete(tokens_[1], Verdict::done());
  drive_handled(4);
  EXPECT_EQ(status().deleted, 1u);
  EXPECT_EQ(handled_.size(), 4u);
}

TEST_F(ConsumerCoreTest, MakesAMessageVisibleAgainAfterItsDelay) {
  send(1);
  int deliveries = 0;
  make([&](const Client::MessageView& message) {
    EXPECT_EQ(message.receive_count, static_cast<std::uint32_t>(++deliveries));
    return deliveries < 3 ? Verdict::retry_in(0ms) : Verdict::retry_in(1h);
  });
  drive([&] { return status().released == 3; });
  EXPECT_EQ(handled_.size(), 3u);
  EXPECT_EQ(client_.counts(queue_)->visible, 0u);
  EXPECT_EQ(client_.receive(queue_, {.wait = 0ms})->size(), 0u);
  EXPECT_EQ(total(), 1u);
}

class ConsumerOrderTest : public ConsumerCoreTest {
 protected:
  ConsumerOrderTest() {
    const Client::QueueAttribute fifo[] = {
        {"FifoQueue", "true"}
    };
    queue_ = client_.create_queue("q.fifo", fifo).value();
    options_.queue = "q.fifo";
    int number = 0;
    for (const char* body : {"a1", "a2", "b1", "a3"})
      EXPECT_TRUE(client_.send(queue_, {.body = body,
                                        .group = std::string_view(body).substr(0, 1),
                                        .deduplication_id = std::to_string(++number)}));
  }
  using Bodies = std::vector<std::string>;
};

TEST_F(ConsumerOrderTest, TheHandlerHasOneMessageOfAGroupAtATime) {
  make(Verdict::later());
  drive_handled(2);
  for (int i = 0; i < 20; ++i) core_->turn(Clock::now());
  EXPECT_EQ(handled_, (Bodies{"a1", "b1"}));
  EXPECT_EQ(status().under_way, 4u);
  EXPECT_EQ(status().received, 2u);
  core_->verdicts().complete(tokens_[0], Verdict::done());
  drive_handled(3);
  EXPECT_EQ(handled_.back(), "a2");
  core_->verdicts().complete(tokens_[2], Verdict::done());
  drive_handled(4);
  EXPECT_EQ(handled_.back(), "a3");
}

TEST_F(ConsumerOrderTest, AMessageThatIsReturnedStopsItsGroup) {
  int times = 0;
  make([&](const Client::MessageView& message) {
    return message.body == "a1" && ++times == 1 ? Verdict::retry_in(0ms) : Verdict::done();
  });
  drive([&] { return status().deleted == 4; });
  std::erase(handled_, "b1");
  EXPECT_EQ(handled_, (Bodies{"a1", "a1", "a2", "a3"}));
  EXPECT_EQ(status().released, 3u);
  EXPECT_EQ(status().refused, 0u);
}

TEST_F(ConsumerOrderTest, WaitingMessagesAreReleasedWhenItEnds) {
  make(Verdict::later());
  drive_handled(2);
  core_->verdicts().advance(Mode::releasing);
  drive_idle();
  EXPECT_GE(status().released, 4u) << "a long poll may receive them once more";
  EXPECT_EQ(client_.counts(queue_)->visible, 4u);
}

TEST_F(ConsumerCoreTest, TakesTheNearestDelayThatTheServerAllows) {
  send(1);
  make([&](const Client::MessageView&) {
    return Verdict::retry_in(handled_.size() == 1 ? -5ms : std::chrono::milliseconds(13h));
  });
  drive([&] { return status().released == 2; });
  EXPECT_EQ(handled_.size(), 2u) << "a delay below 0 is none";
  EXPECT_EQ(status().refused, 0u) << "a delay above twelve hours is twelve hours";
  EXPECT_EQ(client_.counts(queue_)->visible, 0u);
}

TEST_F(ConsumerCoreTest, SendsDeadMessagesToTheDeadLetterQueue) {
  const Client::QueueAttribute fifo[] = {
      {"FifoQueue", "true"}
  };
  const auto letters = client_.create_queue("dead.fifo", fifo);
  ASSERT_TRUE(letters);
  const Client::Attribute attributes[] = {
      {"A", "String", "x"}
  };
  ASSERT_TRUE(client_.send(queue_, {.body = "at once", .attributes = attributes, .group = "t"}));
  ASSERT_TRUE(client_.send(queue_, "later"));
  options_.dead_letter_queue = "dead.fifo";
  make([](const Client::MessageView& message) {
    return message.body == "later" ? Verdict::later() : Verdict::dead();
  });
  drive_handled(2);
  core_->verdicts().complete(tokens_[1], Verdict::dead());
  drive([&] { return status().deleted == 2; });
  EXPECT_EQ(status().dead, 2u);
  EXPECT_EQ(total(), 0u);
  const auto received = client_.receive(*letters, {.max = 10, .wait = 0ms});
  ASSERT_EQ(received->size(), 2u);
  const Client::Message& first = received->front();
  EXPECT_EQ(first.body, "at once");
  EXPECT_EQ(first.group, "t");
  EXPECT_EQ(Client::attributes_of(first.encoded_attributes).at(0).value, "x");
  EXPECT_EQ(first.deduplication_id.size(), 36u) << "a repeated send would be no duplicate";
  EXPECT_EQ(received->back().body, "later");
}

TEST_F(ConsumerCoreTest, LeavesDeadMessagesToTheRedrivePolicy) {
  send(1);
  make(Verdict::dead());
  drive_handled(1);
  const std::uint64_t before = server_.frames();
  core_->turn(Clock::now() + 3600s);
  EXPECT_EQ(status().dead, 1u);
  EXPECT_EQ(status().under_way, 0u);
  EXPECT_LE(server_.frames() - before, 1u) << "nothing but the next receive";
  EXPECT_EQ(client_.counts(queue_)->in_flight, 1u);
}

TEST_F(ConsumerCoreTest, ExtendsTheVisibilityTimeoutEveryThirdOfIt) {
  send(3);
  options_.visibility = 30s;
  options_.concurrency = 3;  // so that no receive is in flight
  make(Verdict::later());
  drive_handled(3);
  const auto start = Clock::now();
  const std::uint64_t before = server_.frames();
  core_->turn(start + 5s);
  EXPECT_GT(core_->deadline(), start + 9s);
  EXPECT_LE(core_->deadline(), start + 10s);
  EXPECT_EQ(server_.frames(), before) << "it is too early";
  core_->turn(start + 11s);
  EXPECT_GT(core_->deadline(), start + 20s);
  while (server_.frames() == before) std::this_thread::yield();
  core_->turn(start + 11s);
  for (const Consumer::Token token : tokens_) core_->verdicts().complete(token, Verdict::done());
  core_->turn(start + 11s);
  drive([&] { return status().deleted == 3; });
  EXPECT_GE(server_.frames() - before, 2u) << "one CHANGE for all, one DELETE_MESSAGE, and perhaps";
  EXPECT_LE(server_.frames() - before, 3u) << "the next RECEIVE";
  EXPECT_EQ(status().refused, 0u);
}

TEST_F(ConsumerCoreTest, HandlesARedeliveredMessageOnce) {
  send(1);
  make(Verdict::later());
  drive_handled(1);
  // Its timeout passes, as far as the server is concerned.
  ASSERT_TRUE(client_.change_visibility(queue_, receipts_[0], 0ms));
  ASSERT_TRUE(client_.send(queue_, "another"));
  drive_handled(2);
  EXPECT_EQ(handled_[1], "another");
  EXPECT_EQ(client_.counts(queue_)->visible, 0u) << "it was delivered again";
  EXPECT_EQ(status().received, 2u);
  core_->verdicts().complete(tokens_[0], Verdict::done());
  core_->verdicts().complete(tokens_[1], Verdict::done());
  drive([&] { return status().deleted == 2; });
  EXPECT_EQ(total(), 0u);
}

// The timeout passes before the verdict; the next delivery needs no handler.
TEST_F(ConsumerCoreTest, DeletesTheNextDeliveryOfAMessageWhoseReceiptExpired) {
  send(1);
  server_.refuse(Op::delete_message, Errc::receipt_expired, 1);
  make(Verdict::done());
  drive_handled(1);
  for (const auto start = Clock::now(); status().under_way == 1 && Clock::now() < start + 50ms;)
    core_->turn(Clock::now());
  EXPECT_EQ(status().under_way, 1u) << "it waits for the next delivery";
  ASSERT_TRUE(client_.change_visibility(queue_, receipts_[0], 0ms));
  drive([&] { return status().deleted == 1; });
  EXPECT_EQ(handled_.size(), 1u);
  EXPECT_EQ(status().refused, 0u);
  EXPECT_EQ(total(), 0u);
}

TEST_F(ConsumerCoreTest, ForgetsAnExpiredReceiptAfterATimeout) {
  drive_expired();
  core_->turn(Clock::now() + 29s);
  EXPECT_EQ(status().under_way, 1u) << "it waits for the next delivery";
  core_->turn(Clock::now() + 31s);
  EXPECT_EQ(status().refused, 1u);
  EXPECT_EQ(status().under_way, 0u);
}

TEST_F(ConsumerCoreTest, ForgetsAnExpiredReceiptWhenItDrains) {
  drive_expired();
  core_->verdicts().advance(Mode::draining);
  core_->turn(Clock::now());
  EXPECT_EQ(status().refused, 1u);
  EXPECT_TRUE(core_->verdicts().is_idle());
}

TEST_F(ConsumerCoreTest, ConfirmsItsVerdictsThroughDisconnects) {
  for (const Fault fault : {Fault::hang_up, Fault::lose_answer, Fault::garbage}) {
    SCOPED_TRACE(static_cast<int>(fault));
    handled_.clear();
    core_.reset();
    send(20);
    server_.misbehave(BinaryOp::acknowledge, fault, 1);
    make(Verdict::done());
    drive([&] { return handled_.size() >= 20 && status().under_way == 0; });
    EXPECT_EQ(handled_.size(), 20u) << "none is handled twice";
    EXPECT_GE(status().connections, 2u);
    EXPECT_EQ(total(), 0u);
  }
}

TEST_F(ConsumerCoreTest, RetriesRefusalsThatPass) {
  send(3);
  server_.refuse(Op::delete_message, Errc::overloaded, 2);
  make(Verdict::done());
  drive([&] { return status().deleted == 3; });
  EXPECT_EQ(status().refused, 0u);
}

TEST_F(ConsumerCoreTest, GivesUpReceiptsThatTheServerRefuses) {
  send(1);
  make(Verdict::later());
  drive_handled(1);
  ASSERT_TRUE(client_.delete_message(queue_, receipts_[0]));
  core_->verdicts().complete(tokens_[0], Verdict::retry_in(5s));
  drive_idle();
  EXPECT_EQ(status().refused, 1u);
  EXPECT_EQ(status().released, 0u);
  core_->verdicts().complete(tokens_[0], Verdict::done());
  core_->turn(Clock::now());
  EXPECT_EQ(status().under_way, 0u) << "a second verdict is ignored";
}

TEST_F(ConsumerCoreTest, FindsAQueueThatIsCreatedLater) {
  options_.queue = "later";
  make(Verdict::done());
  drive([&] { return status().last_error.code == Code::no_such_queue; });
  const auto queue = client_.create_queue("later");
  ASSERT_TRUE(client_.send(*queue, "m"));
  drive([&] { return status().deleted == 1; });
}

TEST_F(ConsumerCoreTest, ReceivesNoMoreWhileItDrainsAndReleasesTheRestAtOnce) {
  send(2);
  make(Verdict::later());
  drive_handled(2);
  core_->verdicts().advance(Mode::draining);
  core_->verdicts().complete(tokens_[0], Verdict::done());
  drive([&] { return status().deleted == 1; });
  EXPECT_FALSE(core_->verdicts().is_idle());
  core_->verdicts().advance(Mode::releasing);
  drive([&] { return core_->verdicts().is_idle(); });
  EXPECT_EQ(status().released, 1u);
  core_->close();
  EXPECT_EQ(core_->deadline(), Clock::time_point::max());
  const auto received = client_.receive(queue_, {.wait = 0ms});
  ASSERT_EQ(received->size(), 1u);
  EXPECT_EQ(received->front().body, "m1");
}

}  // namespace
}  // namespace pawl::client

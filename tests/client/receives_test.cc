// SPDX-License-Identifier: Apache-2.0
#include "net/client/receives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/client/client_fixture.h"

namespace pawl::client {
namespace {

using Code = Client::Code;
using Fault = FakeServer::Fault;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

class ReceivesTest : public ClientToServer {
 protected:
  explicit ReceivesTest(const std::string& name)
      : name_(name), link_(endpoint(), {name}, 30s, Clock::now()) {
    const Client::QueueAttribute fifo[] = {
        {"FifoQueue", "true"}
    };
    queue_ =
        client_.create_queue(name, std::span(fifo).first(name.ends_with(".fifo") ? 1 : 0)).value();
  }
  // Takes turns, at most for ten seconds, until `done`.
  void drive(const std::function<bool()>& done) {
    const auto end = Clock::now() + 10s;
    while (!done()) {
      ASSERT_LT(Clock::now(), end);
      link_.watch(readiness_);
      readiness_.wait_until(std::min(link_.deadline(), end));
      answers_.clear();
      link_.turn(answers_, Clock::now());
      for (const Answer& answer : answers_) take(answer);
    }
  }
  void take(const Answer& answer) {
    std::vector<Client::MessageView> messages;
    EXPECT_TRUE(receives_.on_answer(answer, messages, Clock::now()));
    ++answered_;
    for (const Client::MessageView& message : messages) bodies_.emplace_back(message.body);
  }
  void request(std::uint32_t free) {
    drive([&] { return link_.up(); });
    receives_.request(link_, free, Clock::now());
    if (link_.up()) link_.pipeline().flush();
  }
  Endpoint endpoint() const {
    Endpoint made;
    made.connection = options();
    made.backoff_min = made.backoff_max = 1ms;
    return made;
  }

  void send(std::string_view body) {
    // Each message is the only one of its group.
    const std::string group = "g" + std::to_string(++sent_);
    const bool fifo = name_.ends_with(".fifo");
    ASSERT_TRUE(client_.send(queue_, {.body = body,
                                      .group = fifo ? group : std::string_view(),
                                      .deduplication_id = fifo ? group : std::string_view()}));
  }

  std::string name_;
  Client client_ = connect();
  Client::Queue queue_;
  int sent_ = 0;
  Readiness readiness_;
  Link link_;
  Receives receives_{10, 20s, std::nullopt};
  std::vector<Answer> answers_;
  std::vector<std::string> bodies_;
  int answered_ = 0;
};

class PollsTest : public ReceivesTest {
 protected:
  PollsTest() : ReceivesTest("q.fifo") {}
};

class SubscriptionTest : public ReceivesTest {
 protected:
  SubscriptionTest() : ReceivesTest("q") {}
};

TEST_F(PollsTest, AsksForTheFreeSlotsAndAgainForHalfOfThem) {
  request(0);
  EXPECT_EQ(receives_.asked(), 0u);
  const std::uint64_t before = server_.frames();
  request(4);
  EXPECT_EQ(receives_.asked(), 4u);
  EXPECT_EQ(link_.pipeline().outstanding(), 1u);
  request(8);
  EXPECT_EQ(receives_.asked(), 4u) << "four more are not worth a request";
  request(9);
  EXPECT_EQ(receives_.asked(), 9u);
  EXPECT_EQ(link_.pipeline().outstanding(), 2u);
  while (server_.frames() < before + 2) std::this_thread::yield();  // both wait there
  send("one");
  drive([&] { return answered_ == 1; });
  EXPECT_EQ(bodies_, std::vector<std::string>{"one"});
  EXPECT_EQ(receives_.asked(), 5u);
}

TEST_F(PollsTest, RepeatsAPollWhoseConnectionEnded) {
  send("one");
  drive([&] { return link_.up(); });
  server_.misbehave(BinaryOp::receive, Fault::hang_up, 1);
  request(4);
  drive([&] { return !link_.up(); });
  EXPECT_EQ(receives_.asked(), 4u) << "the poll will be repeated";
  request(4);
  EXPECT_EQ(receives_.asked(), 4u);
  drive([&] { return !bodies_.empty(); });
  EXPECT_EQ(receives_.asked(), 0u);
}

TEST_F(PollsTest, PausesAfterARefusal) {
  server_.refuse(Op::receive, Errc::over_in_flight, 1);
  request(4);
  drive([&] { return answered_ == 1; });
  EXPECT_EQ(receives_.asked(), 0u);
  const auto until = receives_.paused_until();
  EXPECT_GT(until, Clock::now() - 10s);
  receives_.request(link_, 4, until - 1ms);
  EXPECT_EQ(receives_.asked(), 0u);
  receives_.request(link_, 4, until);
  EXPECT_EQ(receives_.asked(), 4u);
}

TEST_F(PollsTest, RefusesMoreMessagesThanItAskedFor) {
  for (int i = 0; i < 3; ++i) send("m");
  std::vector<Client::MessageView> messages;
  request(2);
  std::vector<Answer> answers;
  drive([&] { return answered_ == 1; });
  EXPECT_EQ(bodies_.size(), 2u);
  receives_.request(link_, 1, Clock::now());
  link_.pipeline().flush();
  while (answers.empty()) link_.turn(answers, Clock::now());
  std::string two;
  put(two, std::uint32_t{2});
  // Each delivery: receipt, id, sequence, times, count, and a head of no body.
  two.append(2 * (24 + 16 + 8 + 8 + 8 + 4 + 4), '\0');
  answers[0].payload = two;
  EXPECT_FALSE(receives_.on_answer(answers[0], messages, Clock::now()));
}

TEST_F(SubscriptionTest, SubscribesOnceAndGrantsCreditForHalfOfTheSlots) {
  for (const char* body : {"one", "two", "three"}) send(body);
  request(2);
  EXPECT_TRUE(receives_.subscription());
  EXPECT_EQ(receives_.asked(), 2u);
  drive([&] { return bodies_.size() == 2; });
  EXPECT_EQ(receives_.asked(), 0u);
  request(10);
  EXPECT_EQ(receives_.asked(), 10u);
  drive([&] { return bodies_.size() == 3; });
  EXPECT_EQ(receives_.asked(), 9u);
  request(13);
  EXPECT_EQ(receives_.asked(), 9u) << "four more are not worth a request";
  request(14);
  EXPECT_EQ(receives_.asked(), 14u);
  EXPECT_EQ(bodies_, (std::vector<std::string>{"one", "two", "three"}));
}

TEST_F(SubscriptionTest, GivesCreditToDeletes) {
  request(5);
  EXPECT_EQ(receives_.take_credit(7), 2u);
  EXPECT_EQ(receives_.asked(), 7u);
  EXPECT_EQ(receives_.take_credit(3), 0u) << "more is asked for than there is space";
  receives_.return_credit(2);
  EXPECT_EQ(receives_.asked(), 5u);
}

TEST_F(SubscriptionTest, SubscribesAnewOnTheNextConnection) {
  drive([&] { return link_.up(); });
  server_.misbehave(BinaryOp::subscribe, Fault::hang_up, 1);
  request(4);
  drive([&] { return !link_.up(); });
  EXPECT_FALSE(receives_.subscription());
  EXPECT_EQ(receives_.asked(), 0u);
  request(4);
  send("one");
  drive([&] { return !bodies_.empty(); });
  EXPECT_EQ(receives_.asked(), 3u);
}

TEST_F(SubscriptionTest, PausesAfterARefusal) {
  server_.refuse(Op::receive, Errc::overloaded, 1);
  request(4);
  drive([&] { return answered_ == 1; });
  EXPECT_FALSE(receives_.subscription());
  const auto until = receives_.paused_until();
  receives_.request(link_, 4, until - 1ms);
  EXPECT_FALSE(receives_.subscription());
  receives_.request(link_, 4, until);
  EXPECT_TRUE(receives_.subscription());
}

TEST_F(SubscriptionTest, StopsAndThenGetsNoMore) {
  request(4);
  receives_.stop(link_);
  receives_.stop(link_);
  link_.pipeline().flush();
  drive([&] { return answered_ == 2; });
  EXPECT_FALSE(receives_.subscription());
  EXPECT_EQ(receives_.asked(), 0u);
  EXPECT_EQ(link_.pipeline().outstanding(), 0u);
}

TEST_F(SubscriptionTest, RefusesMoreMessagesThanItHasCredit) {
  request(1);
  std::string two;
  put(two, std::uint32_t{2});
  two.append(2 * (24 + 16 + 8 + 8 + 8 + 4 + 4), '\0');
  std::vector<Client::MessageView> messages;
  const Answer many{.ticket = *receives_.subscription(), .op = BinaryOp::deliver, .payload = two};
  EXPECT_FALSE(receives_.on_answer(many, messages, Clock::now()));
}

TEST_F(SubscriptionTest, SubscribesAfterTheServerWasUpgraded) {
  server_.hide_subscriptions(true);
  server_.misbehave(BinaryOp::receive, Fault::hang_up, 1);
  request(4);
  EXPECT_FALSE(receives_.subscription());
  EXPECT_EQ(receives_.asked(), 4u);
  server_.hide_subscriptions(false);
  drive([&] { return !link_.up(); });
  request(3);
  EXPECT_TRUE(receives_.subscription());
  EXPECT_EQ(receives_.asked(), 3u) << "the poll is not repeated";
  send("one");
  drive([&] { return !bodies_.empty(); });
}

TEST_F(SubscriptionTest, PollsWhenTheQueuesTimeoutIsZero) {
  drive([&] { return link_.up(); });
  const Client::QueueAttribute zero[] = {
      {"VisibilityTimeout", "0"}
  };
  ASSERT_TRUE(client_.set_attributes(queue_, zero));
  request(4);  // the connection still knows the setting before
  drive([&] { return answered_ == 1; });
  EXPECT_FALSE(receives_.subscription());
  receives_.request(link_, 4, receives_.paused_until());
  EXPECT_FALSE(receives_.subscription());
  EXPECT_EQ(receives_.asked(), 4u);
}

TEST_F(SubscriptionTest, PollsWithoutAVisibilityTimeout) {
  Receives polls(10, 20s, 0ms);
  drive([&] { return link_.up(); });
  polls.request(link_, 4, Clock::now());
  EXPECT_FALSE(polls.subscription());
  EXPECT_EQ(polls.asked(), 4u);
}

}  // namespace
}  // namespace pawl::client

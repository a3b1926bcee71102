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

  Client client_ = connect();
  Client::Queue queue_ = client_.create_queue("q").value();
  Readiness readiness_;
  Link link_{endpoint(), {"q"}, 30s, Clock::now()};
  Receives receives_{10, 20s, std::nullopt};
  std::vector<Answer> answers_;
  std::vector<std::string> bodies_;
  int answered_ = 0;
};

TEST_F(ReceivesTest, AsksForTheFreeSlotsAndAgainForHalfOfThem) {
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
  ASSERT_TRUE(client_.send(queue_, "one"));
  drive([&] { return answered_ == 1; });
  EXPECT_EQ(bodies_, std::vector<std::string>{"one"});
  EXPECT_EQ(receives_.asked(), 5u);
}

TEST_F(ReceivesTest, RepeatsAPollWhoseConnectionEnded) {
  ASSERT_TRUE(client_.send(queue_, "one"));
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

TEST_F(ReceivesTest, PausesAfterARefusal) {
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

TEST_F(ReceivesTest, RefusesMoreMessagesThanItAskedFor) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(client_.send(queue_, "m"));
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

}  // namespace
}  // namespace pawl::client

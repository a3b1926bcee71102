// SPDX-License-Identifier: Apache-2.0
#include "net/client/link.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/client/client_fixture.h"

namespace pawl::client {
namespace {

using Code = Client::Code;
using Fault = FakeServer::Fault;
using State = Link::State;
using std::chrono_literals::operator""h;
using std::chrono_literals::operator""min;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr Client::QueueAttribute fifo_attributes[] = {
    {"FifoQueue",                 "true"},
    {"ContentBasedDeduplication", "true"}
};

class LinkTest : public ClientToServer {
 protected:
  LinkTest() {
    endpoint_.connection = options();
    endpoint_.backoff_min = endpoint_.backoff_max = 1ms;
  }
  Link link(std::vector<std::string> queues) const {
    return Link(endpoint_, std::move(queues), 10s, Clock::now());
  }
  // Takes turns, at most for ten seconds, until `done`.
  void drive(Link& link, const std::function<bool()>& done) {
    const auto end = Clock::now() + 10s;
    answers_.clear();
    while (!done()) {
      ASSERT_LT(Clock::now(), end);
      link.watch(readiness_);
      readiness_.wait_until(std::min(link.deadline(), end));
      link.turn(answers_, Clock::now());
    }
  }
  void drive_up(Link& link) {
    drive(link, [&] { return link.up(); });
  }
  static void ping(Link& link) {
    link.pipeline().begin(BinaryOp::ping, 0);
    ASSERT_TRUE(link.pipeline().finish());
    link.pipeline().flush();
  }

  Endpoint endpoint_;
  Readiness readiness_;
  std::vector<Answer> answers_;
};

TEST_F(LinkTest, OpensItsQueuesInOrder) {
  Client client = connect();
  const Client::QueueAttribute attributes[] = {
      {"VisibilityTimeout",  "90"  },
      {"MaximumMessageSize", "2048"}
  };
  ASSERT_TRUE(client.create_queue("orders", attributes));
  ASSERT_TRUE(client.create_queue("by-content.fifo", fifo_attributes));
  ASSERT_TRUE(client.create_queue("by-id.fifo", std::span(fifo_attributes).first(1)));
  Link up = link({"orders", "by-content.fifo", "by-id.fifo"});
  drive_up(up);
  EXPECT_EQ(up.queue(0).visibility, 90s);
  EXPECT_EQ(up.queue(0).maximum_message_size, 2048u);
  EXPECT_FALSE(up.queue(0).fifo);
  EXPECT_TRUE(up.queue(1).fifo);
  EXPECT_TRUE(up.queue(1).content_based_deduplication);
  EXPECT_TRUE(up.queue(2).fifo);
  EXPECT_FALSE(up.queue(2).content_based_deduplication);
  EXPECT_NE(up.queue(0).handle, up.queue(1).handle);
  EXPECT_EQ(up.connections(), 1u);
  EXPECT_EQ(up.deadline(), Clock::time_point::max()) << "nothing is awaited";
  ping(up);
  drive(up, [&] { return answers_.size() == 1; });
  EXPECT_EQ(answers_[0].error.code, Code::ok);
}

TEST_F(LinkTest, ReportsARefusalOnceAndTriesAgain) {
  Link refused = link({"later"});
  std::optional<Client::Error> refusal;
  drive(refused, [&] { return (refusal = refused.take_refusal()).has_value(); });
  EXPECT_EQ(refusal->code, Code::no_such_queue);
  EXPECT_FALSE(refused.take_refusal());
  EXPECT_EQ(refused.error().code, Code::no_such_queue);
  Client client = connect();
  ASSERT_TRUE(client.create_queue("later"));
  drive_up(refused);
}

TEST_F(LinkTest, ConnectsAgainAfterADisconnectAndFailsItsRequests) {
  Client client = connect();
  ASSERT_TRUE(client.create_queue("q"));
  Link up = link({"q"});
  drive_up(up);
  server_.misbehave(BinaryOp::ping, Fault::hang_up, 1);
  ping(up);
  drive(up, [&] { return answers_.size() == 1; });
  EXPECT_EQ(answers_[0].error.code, Code::broken);
  EXPECT_FALSE(up.up());
  EXPECT_FALSE(up.take_refusal()) << "a disconnect is no refusal";
  drive_up(up);
  EXPECT_EQ(up.connections(), 2u);
  ping(up);
  drive(up, [&] { return answers_.size() == 1; });
  EXPECT_EQ(answers_[0].error.code, Code::ok);
}

TEST_F(LinkTest, FailsTheRequestsOfARestartInTheNextTurn) {
  Client client = connect();
  ASSERT_TRUE(client.create_queue("q"));
  Link up = link({"q"});
  drive_up(up);
  ping(up);
  up.restart(error_of(Code::bad_answer));
  EXPECT_FALSE(up.up());
  EXPECT_LE(up.deadline(), Clock::now());
  drive(up, [&] { return answers_.size() == 1; });
  EXPECT_EQ(answers_[0].error.code, Code::bad_answer);
  drive_up(up);
}

TEST_F(LinkTest, TriesEveryAddressBeforeItPauses) {
  Client client = connect();
  ASSERT_TRUE(client.create_queue("q"));
  endpoint_.backoff_min = endpoint_.backoff_max = 1h;
  endpoint_.addresses = {
      {"127.0.0.1", 1             },
      {"127.0.0.1", 2             },
      {"127.0.0.1", server_.port()}
  };
  Link up = link({"q"});
  drive_up(up);
  EXPECT_EQ(up.error().code, Code::unreachable);
  EXPECT_EQ(up.error().system, ECONNREFUSED);
}

TEST_F(LinkTest, PausesAfterARoundOfFailures) {
  endpoint_.backoff_min = endpoint_.backoff_max = 1h;
  endpoint_.addresses = {
      {"127.0.0.1", 1},
      {"127.0.0.1", 2}
  };
  Link down = link({"q"});
  drive(down, [&] {
    return down.state() == State::pausing && down.error().code != Code::ok &&
           down.deadline() > Clock::now();
  });
  EXPECT_GT(down.deadline(), Clock::now() + 20min);
  down.close();
  EXPECT_EQ(down.deadline(), Clock::time_point::max());
}

TEST_F(LinkTest, FailsWhenNothingIsAnsweredForTooLong) {
  Client client = connect();
  ASSERT_TRUE(client.create_queue("q"));
  Link up = link({"q"});
  drive_up(up);
  server_.misbehave(BinaryOp::ping, Fault::say_nothing);
  const auto now = Clock::now();
  up.turn(answers_, now);
  ping(up);
  EXPECT_EQ(up.deadline(), now + 10s);
  up.turn(answers_, now + 10s - 1ms);
  EXPECT_TRUE(up.up());
  up.turn(answers_, now + 10s);
  EXPECT_FALSE(up.up());
  ASSERT_EQ(answers_.size(), 1u);
  EXPECT_EQ(answers_[0].error.code, Code::timed_out);
}

}  // namespace
}  // namespace pawl::client

// SPDX-License-Identifier: Apache-2.0
// Messages named by their ids, and uncounted returns, through the client library and a server.
#include <gtest/gtest.h>

#include <array>
#include <chrono>

#include "tests/net/live_server.h"

namespace pawl {
namespace {

using namespace std::chrono_literals;
using Code = Client::Code;

class MessageIdsTest : public LiveClientTest {
 protected:
  void SetUp() override {
    LiveServerTest::SetUp();
    start();
    connect();
    open();
  }
  void open() { queue_ = *client_->create_queue("q"); }
  Client::MessageId send(std::string_view body,
                         std::optional<std::chrono::milliseconds> delay = {}) {
    const auto sent = client_->send(queue_, {.body = body, .delay = delay});
    EXPECT_TRUE(sent);
    return sent->id;
  }
  Client::Cancelled cancel(const Client::MessageId& id, bool even_in_flight = false) {
    const auto outcomes = client_->cancel(queue_, std::span(&id, 1), even_in_flight);
    EXPECT_TRUE(outcomes) << Client::name_of(outcomes.error().code);
    return outcomes ? outcomes->front() : Client::Cancelled{};
  }
  Code reschedule(const Client::MessageId& id, std::chrono::milliseconds delay) {
    const auto codes = client_->reschedule(queue_, std::span(&id, 1), delay);
    return codes ? codes->front() : codes.error().code;
  }
  std::vector<Client::Message> receive() {
    auto messages = client_->receive(queue_, {.max = 10, .wait = 0ms, .visibility = 1h});
    EXPECT_TRUE(messages);
    return std::move(*messages);
  }

  Client::Queue queue_;
};

TEST_F(MessageIdsTest, ACancelledMessageIsNeverDelivered) {
  const Client::MessageId ids[] = {send("waits"), send("is delayed", 15min), Client::MessageId{7}};
  const auto outcomes = client_->cancel(queue_, ids);
  ASSERT_TRUE(outcomes);
  EXPECT_EQ(outcomes->at(0).code, Code::ok);
  EXPECT_TRUE(outcomes->at(0).cancelled);
  EXPECT_TRUE(outcomes->at(1).cancelled);
  EXPECT_EQ(outcomes->at(2).code, Code::message_id_invalid);
  EXPECT_FALSE(cancel(ids[0]).cancelled) << "it is gone";
  restart();
  open();
  EXPECT_TRUE(receive().empty());
  EXPECT_EQ(client_->counts(queue_)->delayed, 0u);
  EXPECT_EQ(client_->cancel(queue_, {}).error().code, Code::invalid);
}

TEST_F(MessageIdsTest, AMessageInFlightIsCancelledAtItsReturn) {
  const Client::MessageId id = send("m");
  const auto received = receive();
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(cancel(id).code, Code::message_in_flight);
  EXPECT_EQ(reschedule(id, 0ms), Code::message_in_flight);
  EXPECT_TRUE(cancel(id, true).cancelled);
  EXPECT_EQ(client_->counts(queue_)->in_flight, 1u);
  EXPECT_TRUE(client_->change_visibility(queue_, received[0].receipt, 0ms));
  EXPECT_EQ(client_->counts(queue_)->in_flight, 0u);
  EXPECT_TRUE(receive().empty());
}

TEST_F(MessageIdsTest, ARescheduledMessageHasItsNewTime) {
  const Client::MessageId soon = send("soon", 15min), later = send("later");
  EXPECT_EQ(reschedule(soon, 0ms), Code::ok);
  EXPECT_EQ(reschedule(later, 15min), Code::ok);
  EXPECT_EQ(reschedule(later, 15min + 1ms), Code::invalid);
  restart();
  open();
  const auto received = receive();
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].body, "soon");
  EXPECT_EQ(client_->counts(queue_)->delayed, 1u);
  EXPECT_TRUE(client_->delete_message(queue_, received[0].receipt));
  EXPECT_EQ(reschedule(soon, 0ms), Code::message_gone);
}

TEST_F(MessageIdsTest, AnUncountedReturnIsNoReceive) {
  send("m");
  auto received = receive();
  ASSERT_EQ(received.size(), 1u);
  EXPECT_TRUE(client_->return_uncounted(queue_, received[0].receipt));
  received = receive();
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].receive_count, 1u);
  EXPECT_TRUE(client_->return_uncounted(queue_, received[0].receipt, 1h));
  EXPECT_TRUE(receive().empty());
  EXPECT_EQ(client_->counts(queue_)->delayed, 1u);
  EXPECT_FALSE(client_->return_uncounted(queue_, received[0].receipt, 13h));
}

}  // namespace
}  // namespace pawl

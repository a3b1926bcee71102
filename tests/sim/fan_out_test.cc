// SPDX-License-Identifier: Apache-2.0
// One message to many queues of a shard: its body exists once, until its last message is gone.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/sim/two_shards_fixture.h"

namespace pawl::sim {
namespace {

class FanOutTest : public TwoShards {
 protected:
  static constexpr std::size_t body_bytes = 8'000;

  void SetUp() override {
    TwoShards::SetUp();
    for (int i = 0; i < 20; ++i)
      queues_.push_back(make_queue(name_on(one, "q" + std::to_string(i)), {}));
  }
  Log& log() { return world.loop(1).log(); }

  // Sends the body to all queues and returns the bytes that the log has grown.
  std::uint64_t fan_out(const std::string& body, std::vector<FanOutTarget>& targets) {
    SendEntry entry;
    entry.content = {.body = body, .notification = "note"};
    targets.clear();
    for (std::size_t i = 0; i < queues_.size(); ++i)
      targets.push_back({
          .queue = queues_[i], .subscription = {i, i % 2}
      });
    const std::uint64_t before = log().stats().end;
    Request request;
    request.op = Op::fan_out;
    request.sends = {&entry, 1};
    request.targets = targets;
    EXPECT_TRUE(ask(request, one));
    EXPECT_EQ(request.error, Errc::ok);
    return log().stats().end - before;
  }
  std::uint64_t fan_out(const std::string& body) {
    std::vector<FanOutTarget> targets;
    const std::uint64_t bytes = fan_out(body, targets);
    for (const FanOutTarget& one_of : targets) EXPECT_EQ(one_of.error, Errc::ok);
    return bytes;
  }
  static std::string body(char c) { return std::string(body_bytes, c); }
  void receive_and_delete(QueueId queue, const std::string& expected) {
    const std::vector<Received> messages = receive(queue, one);
    ASSERT_EQ(messages.size(), 1u);
    EXPECT_EQ(messages[0].body, expected);
    delete_messages(queue, one, messages);
  }

  std::vector<QueueId> queues_;
};

TEST_F(FanOutTest, WritesTheBodyOnce) {
  EXPECT_LT(fan_out(body('a')), 3 * body_bytes) << "for 20 queues";
  for (const QueueId queue : queues_) receive_and_delete(queue, body('a'));
}

TEST_F(FanOutTest, AnswersForEachQueue) {
  drop(queues_[3]);
  std::vector<FanOutTarget> targets;
  fan_out(body('a'), targets);
  for (std::size_t i = 0; i < targets.size(); ++i)
    EXPECT_EQ(targets[i].error, i == 3 ? Errc::no_such_queue : Errc::ok) << i;
}

TEST_F(FanOutTest, KeepsTheBodyUntilItsLastMessageIsGone) {
  fan_out(body('a'));
  for (std::size_t i = 0; i + 1 < queues_.size(); ++i) receive_and_delete(queues_[i], body('a'));
  for (char c = 'b'; c < 'z'; ++c) {  // some segments of other messages
    fan_out(body(c));
    for (std::size_t i = 0; i + 1 < queues_.size(); ++i) purge(queues_[i], one);
    run(61'000'000);  // a purge a minute
  }
  EXPECT_EQ(receive(queues_.back(), one, 1).at(0).body, body('a'));
}

TEST_F(FanOutTest, FreesTheSpaceBehindTheLastMessage) {
  const auto used = [&] { return log().stats().used_bytes; };
  for (char c = 'a'; c < 'z'; ++c) fan_out(body(c));
  const std::uint64_t full = used();
  for (const QueueId queue : queues_) purge(queue, one);
  for (int i = 0; i < 40; ++i) {  // checkpoints free it
    send(queues_[0], one, {body('n')});
    run(200'000);
  }
  run(61'000'000);
  purge(queues_[0], one);
  run(2'000'000);
  EXPECT_LT(used(), full);
  EXPECT_EQ(world.loop(1).shard().messages(), 0u);
  EXPECT_EQ(log().messages(), 0u) << "each message was counted once";
}

}  // namespace
}  // namespace pawl::sim

// SPDX-License-Identifier: Apache-2.0
// The state of a call, which serves one call after the other.
#include "proto/sqs/state.h"

#include <gtest/gtest.h>

#include <string>

namespace pawl {
namespace {

TEST(SqsState, HasTheQueueOfTheCall) {
  SqsState state;
  {
    QueueConfig queue;
    queue.id = QueueId{7};
    queue.account = "1";
    queue.name = "q.fifo";
    queue.apply({Attribute::fifo_queue, 1, {}});
    state.use(queue);
  }
  EXPECT_EQ(state.request.queue, QueueId{7});
  EXPECT_EQ(state.queue_name, "q.fifo") << "a copy, which outlives the config";
  EXPECT_EQ(state.queue_account, "1");
  EXPECT_TRUE(state.fifo);
  EXPECT_EQ(state.route(Op::purge, ShardId{3}), CallStep::route);
  EXPECT_EQ(state.request.op, Op::purge);
  EXPECT_EQ(state.routed.request, &state.request);
  EXPECT_EQ(state.routed.target, ShardId{3});
}

TEST(SqsState, KeepsNothingOfALargeCall) {
  SqsState state;
  state.reset();
  state.action = SqsAction::send_message_batch;
  EXPECT_TRUE(state.is_batch());
  state.entries.resize(10);
  const std::size_t small = state.memory();
  for (SqsEntry& entry : state.entries) {
    entry.refusal.because(SqsFault::over_limit, "full");
    entry.message.attributes.assign(100'000, 'x');
  }
  state.refusal.because(SqsFault::over_limit, "full");
  state.input.arena.copy(std::string(1 << 20, 'x'));
  state.request.route.copied.assign(1 << 20, 'x');
  state.result.assign(1 << 20, 'x');
  state.scratch.assign(1 << 20, 'x');
  state.retries = 3;
  state.answered = 3;
  EXPECT_GT(state.memory(), std::size_t{4} << 20);
  state.reset();
  EXPECT_LT(state.memory(), small + (64 << 10));
  EXPECT_FALSE(state.refusal);
  for (const SqsEntry& entry : state.entries) EXPECT_FALSE(entry.refusal);
  EXPECT_EQ(state.action, SqsAction::none);
  EXPECT_FALSE(state.is_batch());
  EXPECT_EQ(state.request.op, Op::none);
  EXPECT_EQ(state.retries, 0u);
  EXPECT_EQ(state.answered, 0u);
  EXPECT_EQ(state.result + state.scratch, "");
}

TEST(QueuePath, IsTheLastTwoSegments) {
  constexpr struct {
    std::string_view text, account, name;
  } cases[] = {
      {"http://h:9324/1/q",     "1", "q"},
      {"https://h/prefix/1/q/", "1", "q"},
      {"/1/q",                  "1", "q"},
      {"1/q",                   "1", "q"},
      {"q",                     "",  "q"},
      {"/q",                    "",  "q"},
      {"//1//q//",              "1", "q"},
      {"http://h",              "",  "" },
      {"http://h/",             "",  "" },
      {"/",                     "",  "" },
      {"",                      "",  "" },
  };
  for (const auto& c : cases) {
    const QueuePath path = queue_path(c.text);
    EXPECT_EQ(path.account, c.account) << c.text;
    EXPECT_EQ(path.name, c.name) << c.text;
  }
}

TEST(QueueUrl, HasTheConfiguredBaseOrTheHostOfTheRequest) {
  CallSettings config;
  SqsState state;
  state.config = &config;
  const auto url = [&] {
    std::string out;
    append_queue_url(out, state, "1", "q");
    return out;
  };
  EXPECT_EQ(url(), "http://localhost/1/q");
  state.host = "queue.example:81";
  state.scheme = "https";
  EXPECT_EQ(url(), "https://queue.example:81/1/q");
  config.base_url = "http://public/base/";
  EXPECT_EQ(url(), "http://public/base/1/q");
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// The state of replay tasks. Reading the log and sending again: tests/sim/replay_test.cc.
#include "core/shard/replay_tasks.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/core/shard_harness.h"

namespace pawl::test {
namespace {

class ReplayTasksTest : public testing::Test {
 protected:
  explicit ReplayTasksTest(const ShardLimits& limits = {}) : world_(limits) {}
  QueueId make(const std::string& name, std::int64_t retention_s = 3600) {
    return world_
        .create(name,
                {
                    {Attribute::replay_retention, retention_s, {}}
    })
        .request.config->id;
  }
  // The error of a request; its parameters and results are in params_.
  Errc ask(Op op, QueueId queue, const ReplayParams& params = {}) {
    params_ = params;
    Request request{.op = op, .queue = queue};
    request.replay = &params_;
    Effects effects;
    world_.shard().apply(request, world_.now(), effects);
    return request.error;
  }
  Errc start(QueueId queue, ReplayParams params = {}) {
    params.destination = "0/q";
    const Errc error = ask(Op::start_replay, queue, params);
    number_ = params_.number;
    return error;
  }
  Errc cancel(QueueId queue, std::uint32_t number) {
    return ask(Op::cancel_replay, queue, {.number = number});
  }
  void end(QueueId queue) {
    Effects effects;
    world_.shard().replays().end(queue, ReplayTask::Status::completed, Errc::ok, effects);
  }
  std::vector<ReplayTask> tasks(QueueId queue) {
    ask(Op::list_replays, queue);
    return params_.tasks;
  }
  std::size_t known(QueueId queue) { return tasks(queue).size(); }

  ShardHarness world_;
  ReplayParams params_;
  std::uint32_t number_ = 0;  // of the task started last
};

TEST_F(ReplayTasksTest, NeedsAQueueThatRetainsItsMessages) {
  EXPECT_EQ(start(make("q", 0)), Errc::not_kept);
  EXPECT_EQ(world_.shard().replays().under_way(), nullptr);
}

TEST_F(ReplayTasksTest, RunsAloneInItsSource) {
  const QueueId queue = make("q");
  ASSERT_EQ(start(queue), Errc::ok);
  EXPECT_EQ(start(queue), Errc::task_running);
  end(queue);
  EXPECT_EQ(start(queue), Errc::ok);
  EXPECT_EQ(number_, 2u);
}

TEST_F(ReplayTasksTest, IsCancelledOnceAndByItsNumber) {
  const QueueId queue = make("q");
  EXPECT_EQ(cancel(queue, 1), Errc::no_such_task);
  ASSERT_EQ(start(queue), Errc::ok);
  Effects effects;
  world_.shard().replays().replayed(queue, {.position = 100, .sent = 7}, effects);
  EXPECT_EQ(cancel(queue, 2), Errc::no_such_task);
  EXPECT_EQ(cancel(queue, 1), Errc::ok);
  EXPECT_EQ(params_.sent, 7u);
  EXPECT_EQ(tasks(queue)[0].status, ReplayTask::Status::cancelled);
  EXPECT_EQ(cancel(queue, 1), Errc::task_ended);
}

TEST_F(ReplayTasksTest, AddsUpItsStepsAndHoldsTheLogFromItsPosition) {
  const QueueId queue = make("q");
  ASSERT_EQ(start(queue, {.position = 100, .end = 900}), Errc::ok);
  EXPECT_EQ(world_.shard().replays().position(), 100u);
  Effects effects;
  world_.shard().replays().replayed(queue, {.position = 300, .sent = 3, .unreadable = 64}, effects);
  world_.shard().replays().replayed(queue, {.position = 500, .sent = 4, .unreadable = 8}, effects);
  EXPECT_EQ(world_.shard().replays().position(), 500u);
  const ReplayTask* const task = world_.shard().replays().under_way();
  ASSERT_NE(task, nullptr);
  EXPECT_EQ(task->sent, 7u);
  EXPECT_EQ(task->unreadable, 72u);
  EXPECT_EQ(task->end, 900u);
  end(queue);
  EXPECT_EQ(world_.shard().replays().position(), ReplayTasks::none);
}

TEST_F(ReplayTasksTest, SelectsNothingOlderThanTheRetentionAndNothingFromTheFuture) {
  const QueueId queue = make("q", 60);
  world_.advance(seconds(1000));
  ASSERT_EQ(start(queue), Errc::ok);
  EXPECT_EQ(tasks(queue)[0].from, world_.now() - seconds(60));
  EXPECT_EQ(tasks(queue)[0].to, world_.now() + milliseconds(1)) << "also messages of this moment";
  end(queue);
  ASSERT_EQ(start(queue, {.from = world_.now() - seconds(20), .to = world_.now() - seconds(10)}),
            Errc::ok);
  EXPECT_EQ(tasks(queue)[0].from, world_.now() - seconds(20));
  EXPECT_EQ(tasks(queue)[0].to, world_.now() - seconds(10));
  end(queue);
  ASSERT_EQ(start(queue, {.to = world_.now() + seconds(10)}), Errc::ok);
  EXPECT_EQ(tasks(queue)[0].to, world_.now() + milliseconds(1));
}

TEST_F(ReplayTasksTest, IsRememberedForTenTasksNewestFirst) {
  const QueueId queue = make("q");
  for (std::size_t i = 0; i < replays_kept + 2; ++i) {
    ASSERT_EQ(start(queue), Errc::ok);
    end(queue);
  }
  const std::vector<ReplayTask> all = tasks(queue);
  ASSERT_EQ(all.size(), replays_kept);
  EXPECT_EQ(all.front().number, replays_kept + 2);
  EXPECT_EQ(all.back().number, 3u);
}

TEST_F(ReplayTasksTest, WaitsUntilTheTaskOfAnotherQueueEnds) {
  const QueueId first = make("first"), second = make("second");
  ASSERT_EQ(start(first), Errc::ok);
  ASSERT_EQ(start(second), Errc::ok);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(world_.shard().replays().under_way()->source, first);
  end(first);
  EXPECT_EQ(world_.shard().replays().under_way()->source, second);
}

TEST_F(ReplayTasksTest, HoldsTheLogFromTheLowestPositionOfAllTasks) {
  for (const LogPos position : {300u, 100u, 200u})
    ASSERT_EQ(start(make("q" + std::to_string(position)), {.position = position}), Errc::ok);
  EXPECT_EQ(world_.shard().replays().position(), 100u);
}

class ReplayLimit : public ReplayTasksTest {
 protected:
  ReplayLimit() : ReplayTasksTest(limits()) {}
  static ShardLimits limits() {
    ShardLimits limits;
    limits.replays_max = 3;
    return limits;
  }
};

TEST_F(ReplayLimit, ForgetsWhatHasEndedButForTheLastOfAQueue) {
  const QueueId a = make("a"), b = make("b"), c = make("c"), d = make("d");
  for (const QueueId queue : {b, a}) {
    ASSERT_EQ(start(queue), Errc::ok);
    end(queue);
    world_.advance(seconds(1));
  }
  ASSERT_EQ(start(a), Errc::ok);
  ASSERT_EQ(start(c), Errc::ok) << "for the first of a";
  EXPECT_EQ(known(a), 1u);
  EXPECT_EQ(known(b), 1u);
  EXPECT_EQ(start(d), Errc::overloaded) << "the last of a queue says which number comes next";
  end(a);
  ASSERT_EQ(start(a), Errc::ok) << "in the place of its own";
  EXPECT_EQ(known(a), 1u);
  EXPECT_EQ(number_, 3u);
}

TEST_F(ReplayLimit, KeepsTheLogAsLongAsOneOfItsQueuesWants) {
  const auto wants = [this] { return world_.shard().replays().retention(); };
  const QueueId a = make("a"), b = make("b");
  EXPECT_EQ(wants(), seconds(3600));
  world_.set(a, {
                    {Attribute::replay_retention, 60, {}}
  });
  EXPECT_EQ(wants(), seconds(3600)) << "b's";
  world_.plain(Op::delete_queue, b);
  EXPECT_EQ(wants(), seconds(60));
  world_.flush();
  world_.crash();
  EXPECT_EQ(wants(), seconds(60));
  world_.set(a, {
                    {Attribute::replay_retention, 0, {}}
  });
  EXPECT_EQ(wants(), Duration{0});
}

}  // namespace
}  // namespace pawl::test

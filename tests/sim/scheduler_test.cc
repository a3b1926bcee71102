// SPDX-License-Identifier: Apache-2.0
// Schedules through crashes, clock steps and refusals, with a definition of whole seconds.
#include "net/engine/scheduler.h"

#include "tests/sim/every_so_often.h"
#include "tests/sim/two_shards_fixture.h"

namespace pawl::sim {
namespace {

class SchedulerTest : public TwoShards {
 protected:
  void SetUp() override {
    world.run_schedules(reader_);
    ASSERT_EQ(world.start(0), Start::up);
    near_ = "0/" + name_on(zero, "near");
    far_ = "0/" + name_on(one, "far");
    near_id_ = make_queue(near_.substr(2), {});
    far_id_ = make_queue(far_.substr(2), {});
  }
  QueueId schedule(const std::string& definition, const std::string& name = "default/s") {
    QueueSpec spec{.account = "scheduler/0",
                   .name = name,
                   .changes = {{Attribute::schedule, -1, definition}},
                   .tags = {}};
    Request create;
    create.op = Op::create_queue;
    create.spec = &spec;
    EXPECT_TRUE(ask(create, control_shard));
    EXPECT_EQ(create.error, Errc::ok);
    return create.config->id;
  }
  // The first fire of a test is half a second after its first call.
  std::string from() {
    if (first_ == 0) first_ = world.now().ms + 500;
    return " from=" + std::to_string(first_);
  }
  // The numbers of the fires whose messages are in the queue, which are deleted.
  std::vector<std::int64_t> fires(QueueId queue, ShardId owner, std::int64_t every_s = 60) {
    std::vector<std::int64_t> found;
    for (std::vector<Received> some; !(some = receive(queue, owner)).empty();) {
      for (const Received& r : some)
        found.push_back((std::stoll(r.body) - first_) / 1000 / every_s);
      delete_messages(queue, owner, some);
    }
    std::ranges::sort(found);
    return found;
  }
  // Time passes, at times with turns.
  void pass(std::int64_t seconds) {
    for (std::int64_t i = 0; i < seconds; ++i) {
      world.advance(990'000);
      run(10'000);
    }
  }
  const ScheduleStats& stats(std::uint32_t shard) { return world.loop(shard).scheduler().stats(); }
  void restart(std::int64_t down_ms, Crash kind = Crash::power) {
    world.crash(kind);
    ASSERT_EQ(world.start(down_ms), Start::up);
    run(50'000);
  }
  void fill_the_other_disk() {
    const QueueId filler = make_queue(name_on(one, "filler"), {});
    world.disk(1).set_capacity(world.disk(1).bytes_used());
    for (const std::size_t bytes : {60'000, 1000, 50})
      for (int i = 0; i < 200; ++i) send(filler, one, {std::string(bytes, 'x')});
  }
  using Numbers = std::vector<std::int64_t>;

  EverySoOften reader_;
  std::string near_, far_;
  QueueId near_id_, far_id_;
  std::int64_t first_ = 0;
};

TEST_F(SchedulerTest, EachFireSendsOneMessageOnTheShardOfItsQueue) {
  schedule("every=60 queue=" + far_ + from());
  pass(3);
  EXPECT_EQ(fires(far_id_, one), (Numbers{0}));
  pass(121);
  EXPECT_EQ(fires(far_id_, one), (Numbers{1, 2}));
  EXPECT_EQ(stats(0).sent, 0u);
  EXPECT_EQ(stats(1).sent, 3u);
  EXPECT_LE(stats(1).late_ms_max, 1000) << "this test makes a turn a second";
}

TEST_F(SchedulerTest, AMessageIsNotEarlyAndAtMostTwoMillisecondsLate) {
  schedule("every=60 queue=" + near_ + from());
  run(498'000 - 20'000);
  EXPECT_EQ(count(near_id_, zero).visible, 0u);
  run(10'000);
  const auto counted = count(near_id_, zero).visible;
  EXPECT_EQ(counted, 1u);
  EXPECT_LE(stats(0).late_ms_max, 2);
}

TEST_F(SchedulerTest, AllShardsSendToTheirQueuesOfATopic) {
  schedule("every=60 queue=*" + from());
  pass(62);
  EXPECT_EQ(fires(near_id_, zero), (Numbers{0, 1}));
  EXPECT_EQ(fires(far_id_, one), (Numbers{0, 1}));
}

TEST_F(SchedulerTest, ACrashAtAnyTimeRepeatsAndLosesNoFire) {
  schedule("every=1 catch=all queue=" + near_ + from(), "default/a");
  schedule("every=1 catch=all queue=*" + from(), "default/b");
  Numbers seen, far;
  for (int i = 0; i < 20; ++i) {
    run(130'000 + static_cast<std::uint64_t>(i) * 37'000);
    restart(0, i % 2 == 0 ? Crash::power : Crash::process);
  }
  const std::int64_t last = (world.now().ms - first_) / 1000;
  for (const std::int64_t fire : fires(near_id_, zero, 1)) seen.push_back(fire);
  for (const std::int64_t fire : fires(far_id_, one, 1)) far.push_back(fire);
  ASSERT_GE(last, 8);
  EXPECT_EQ(seen.size(), 2 * static_cast<std::size_t>(last + 1));
  for (std::int64_t i = 0; i <= last; ++i) {
    EXPECT_EQ(std::ranges::count(seen, i), 2) << i;
    EXPECT_EQ(std::ranges::count(far, i), 1) << i;
  }
}

TEST_F(SchedulerTest, ACheckpointKeepsTheFiresInMind) {
  schedule("every=36000 queue=" + near_ + from());
  pass(1);
  EXPECT_EQ(fires(near_id_, zero), (Numbers{0}));
  // Several checkpoints later, the record of the message has gone.
  for (int i = 0; i < 60; ++i) {
    send(target, one, {std::string(200, 'x')});
    send(near_id_, zero, {std::string(60'000, 'x')});
    purge(near_id_, zero);
    world.advance(61'000'000);
    run(1'000);
  }
  fires(near_id_, zero);
  restart(0);
  EXPECT_EQ(fires(near_id_, zero), Numbers{});
}

TEST_F(SchedulerTest, MissedFiresAreMadeUpForAsTheScheduleSays) {
  schedule("every=60 queue=" + near_ + from(), "default/last");
  schedule("every=60 catch=all queue=" + far_ + from(), "default/all");
  pass(1);
  EXPECT_EQ(fires(near_id_, zero), (Numbers{0}));
  EXPECT_EQ(fires(far_id_, one), (Numbers{0}));
  restart(300'000);
  EXPECT_EQ(fires(near_id_, zero), (Numbers{5}));
  EXPECT_EQ(fires(far_id_, one), (Numbers{1, 2, 3, 4, 5}));
  EXPECT_EQ(stats(0).missed, 4u);
  EXPECT_EQ(stats(1).missed, 0u) << "the shard of the queue counts them";
}

TEST_F(SchedulerTest, MissedFiresOfNoneAreLeftOut) {
  schedule("every=60 catch=none queue=" + near_ + from());
  pass(1);
  EXPECT_EQ(fires(near_id_, zero), (Numbers{0}));
  restart(330'000);
  EXPECT_EQ(fires(near_id_, zero), (Numbers{5})) << "the last is less than a minute late";
  EXPECT_EQ(stats(0).missed, 4u);
  pass(60);
  EXPECT_EQ(fires(near_id_, zero), (Numbers{6}));
}

TEST_F(SchedulerTest, AMessageThatIsStillThereHoldsTheNextIfAsked) {
  schedule("every=60 skip queue=" + near_ + from());
  pass(122);
  EXPECT_EQ(stats(0).overlapped, 2u);
  EXPECT_EQ(fires(near_id_, zero), (Numbers{0}));
  pass(60);
  EXPECT_EQ(fires(near_id_, zero), (Numbers{3}));
}

TEST_F(SchedulerTest, ADefinitionThatChangesFiresByTheNewOneAlone) {
  const QueueId id = schedule("every=60 queue=" + near_ + from());
  pass(1);
  EXPECT_EQ(fires(near_id_, zero), (Numbers{0}));
  set(id, {Attribute::schedule, -1, "every=60 paused queue=" + near_ + " from=1"});
  pass(121);
  EXPECT_EQ(fires(near_id_, zero), Numbers{});
  first_ = 0;
  set(id, {Attribute::schedule, -1, "every=60 queue=" + near_ + from()});
  pass(1);
  EXPECT_EQ(fires(near_id_, zero), (Numbers{0}));
  drop(id);
  pass(121);
  EXPECT_EQ(fires(near_id_, zero), Numbers{});
  EXPECT_EQ(stats(0).schedules, 0u);
}

// The change of a schedule moves its fires only if its definition does.
TEST_F(SchedulerTest, AChangeOfOtherWordsSendsNothingOld) {
  const std::string definition = "every=60 catch=all queue=" + near_ + from();
  const QueueId id = schedule(definition);
  drop(near_id_);
  pass(125);
  near_id_ = make_queue(near_.substr(2), {});
  set(id, {Attribute::schedule, -1, definition + " described"});
  pass(2);
  EXPECT_EQ(fires(near_id_, zero), Numbers{}) << "the queue came after three fires";
  pass(60);
  EXPECT_EQ(fires(near_id_, zero), (Numbers{3}));
}

// Each shard would otherwise pass over all fires since the schedule was made.
TEST_F(SchedulerTest, AShardWithoutTheQueuePassesOverNoOldFires) {
  schedule("every=1 queue=" + near_ + from());
  pass(200);
  restart(0);
  pass(1);
  EXPECT_EQ(stats(1).missed, 0u);
}

TEST_F(SchedulerTest, AScheduleThatChangesIsNotDeleted) {
  const QueueId id = schedule("every=60 times=1 delete queue=" + near_ + from());
  pass(60);
  set(id, {Attribute::schedule, -1, "every=60 times=4 delete queue=" + near_ + from()});
  pass(10);
  EXPECT_NE(world.loop(0).shard().directory().find(id), nullptr);
}

TEST_F(SchedulerTest, AScheduleIsDeletedAfterItsLastFireIfAsked) {
  const QueueId id = schedule("every=60 times=1 delete queue=" + far_ + from());
  pass(2);
  EXPECT_EQ(fires(far_id_, one), (Numbers{0}));
  EXPECT_NE(world.loop(0).shard().directory().find(id), nullptr);
  pass(63);
  EXPECT_EQ(world.loop(0).shard().directory().find(id), nullptr);
  EXPECT_EQ(world.loop(1).shard().directory().find(id), nullptr);
}

TEST_F(SchedulerTest, AQueueThatIsMadeAgainGetsNoFireOfTheOneBefore) {
  schedule("every=36000 queue=" + near_ + from());
  schedule("every=36000 queue=" + far_ + from(), "default/far");
  pass(1);
  EXPECT_EQ(fires(near_id_, zero), (Numbers{0}));
  EXPECT_EQ(fires(far_id_, one), (Numbers{0}));
  drop(near_id_);
  drop(far_id_);
  near_id_ = make_queue(near_.substr(2), {});
  restart(0);
  EXPECT_EQ(fires(near_id_, zero), Numbers{}) << "the server was idle since";
  far_id_ = make_queue(far_.substr(2), {});
  pass(20);
  restart(0);
  EXPECT_EQ(fires(far_id_, one), Numbers{});
}

TEST_F(SchedulerTest, ARefusedFireEndsWithItsSchedule) {
  const QueueId gone = schedule("every=60 queue=" + far_ + from(), "default/gone");
  const QueueId other = schedule("every=60 queue=" + far_ + from(), "default/other");
  const QueueId worded = schedule("every=60 queue=" + far_ + from(), "default/worded");
  pass(2);
  EXPECT_EQ(fires(far_id_, one), (Numbers{0, 0, 0}));
  fill_the_other_disk();
  pass(62);  // the second fires wait for room
  drop(gone);
  const std::string later = " from=" + std::to_string(world.now().ms + 3'600'000);
  set(other, {Attribute::schedule, -1, "every=60 queue=" + far_ + later});
  set(worded, {Attribute::schedule, -1, "every=60 described queue=" + far_ + from()});
  pass(2);
  world.disk(1).heal();
  pass(5);
  EXPECT_EQ(fires(far_id_, one), (Numbers{1})) << "of the schedule that kept its target";
}

// Only the queue of the other shard did not get the last fire, and a restart would forget it.
TEST_F(SchedulerTest, AScheduleIsNotDeletedWhileAShardHasItsMessage) {
  const QueueId id = schedule("every=60 times=2 delete queue=*" + from());
  pass(2);
  EXPECT_EQ(fires(far_id_, one), (Numbers{0}));
  fill_the_other_disk();
  pass(200);
  EXPECT_EQ(fires(near_id_, zero), (Numbers{0, 1}));
  EXPECT_EQ(stats(1).sent, 1u);
  EXPECT_NE(world.loop(0).shard().directory().find(id), nullptr);
  restart(0);
  world.disk(1).heal();
  pass(5);
  EXPECT_EQ(fires(far_id_, one), (Numbers{1}));
  pass(130);
  EXPECT_EQ(world.loop(1).shard().directory().find(id), nullptr);
}

TEST_F(SchedulerTest, FollowsItsSchedulesInTheMemoryOfTheShard) {
  const std::uint64_t before = world.loop(1).shard().memory().queues;
  const QueueId id = schedule("every=60 queue=" + near_ + from());
  pass(1);
  EXPECT_GT(world.loop(1).shard().memory().queues, before + 200);
  drop(id);
  pass(1);
  EXPECT_LT(world.loop(1).shard().memory().queues, before + 200);
}

TEST_F(SchedulerTest, ATargetThatIsGoneGetsNothingAndLateOnesNothingOld) {
  schedule("every=60 catch=all queue=" + near_ + from());
  pass(1);
  drop(near_id_);
  pass(130);
  EXPECT_EQ(stats(0).failed, 2u) << "no queue of the server took them";
  EXPECT_EQ(stats(1).failed, 0u);
  near_id_ = make_queue(near_.substr(2), {});
  restart(0);
  pass(1);
  EXPECT_EQ(fires(near_id_, zero), Numbers{});
  pass(60);
  EXPECT_EQ(fires(near_id_, zero), (Numbers{3}));
}

// The wall clock says when a schedule fires.
TEST_F(SchedulerTest, AStepOfTheWallClockMovesTheNextFire) {
  schedule("every=3600 queue=" + near_ + from());
  pass(1);
  EXPECT_EQ(fires(near_id_, zero), (Numbers{0}));
  world.step_wall_clock(3'600'000);
  pass(15);
  EXPECT_EQ(fires(near_id_, zero, 3600), (Numbers{1}));
  world.step_wall_clock(-3'600'000);
  pass(15);
  EXPECT_EQ(fires(near_id_, zero, 3600), Numbers{}) << "a fire comes once";
}

}  // namespace
}  // namespace pawl::sim

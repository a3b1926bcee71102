// SPDX-License-Identifier: Apache-2.0
// Replay tasks: messages are sent again, also into a queue of another shard, through crashes.
#include "net/engine/replayer.h"

#include "tests/sim/random.h"
#include "tests/sim/replay_fixture.h"

namespace pawl::sim {
namespace {

// Selects messages whose attributes contain the text.
class Contains final : public MessageFilter {
 public:
  explicit Contains(std::string_view text) : text_(text) {}
  bool wants(const Content& content) const override {
    return content.attributes.find(text_) != std::string_view::npos;
  }

 private:
  std::string text_;
};

std::unique_ptr<MessageFilter> make_filter(std::string_view text) {
  return text == "bad" ? nullptr : std::make_unique<Contains>(text);
}

// Runs the README's command twice, then once with copies. If copies were always replayed, the
// second task would send 40 messages.
TEST_F(ReplayTest, ASecondReplayLeavesOutWhatTheFirstHasSent) {
  send_and_forget(1, 20);
  for (const bool copies : {false, false, true}) {
    ASSERT_EQ(replay({.destination = source_path, .copies = copies}).error, Errc::ok);
    run_to_end();
    EXPECT_EQ(tasks().front().sent, copies ? 60u : 20u);
    EXPECT_EQ(tasks().front().copies, copies);
    run(1000);
    purge(source, zero);
    rest(61'000'000);  // a second purge within a minute is refused
  }
}

// A copy is marked as a copy after a restart too: the second task does not send it again.
TEST_F(ReplayTest, ACopyIsOneAfterARestart) {
  send_and_forget(1, 5);
  ASSERT_EQ(replay({.destination = source_path}).error, Errc::ok);
  run_to_end();
  run(200'000);
  world.crash(Crash::power);
  ASSERT_EQ(world.start(0), Start::up);
  ASSERT_EQ(replay({.destination = source_path}).error, Errc::ok);
  run_to_end();
  EXPECT_EQ(tasks().front().sent, 5u);
}

TEST_F(ReplayTest, WhatWasDeletedComesAgainIntoAQueueOfAnotherShard) {
  send_and_forget(1, 300);
  const Asked asked = replay({.destination = target_path});
  ASSERT_EQ(asked.error, Errc::ok);
  EXPECT_EQ(asked.params.number, 1u);
  run_to_end();
  const std::vector<ReplayTask> all = tasks();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].status, Status::completed);
  EXPECT_EQ(all[0].sent, 300u);
  expect_once(bodies_of(target, one), 1, 300);
}

// Later messages are not read: the part of the log to read ends at the requested time.
TEST_F(ReplayTest, OfATimeLongAgoDoesNotReadToTheEnd) {
  send_and_forget(1, 10);
  const Instant then = world.now();
  rest(61'000'000);
  send_and_forget(11, 8000);
  const Asked asked = replay({.destination = target_path, .to = then});
  ASSERT_EQ(asked.error, Errc::ok);
  EXPECT_LT(asked.params.end - asked.params.position, 5u * (64 << 10)) << "of segments";
  run_to_end();
  EXPECT_EQ(tasks().front().sent, 10u);
  EXPECT_EQ(tasks().front().status, Status::completed);
  expect_once(bodies_of(target, one), 1, 10);
}

TEST_F(ReplayTest, IntoTheQueueItselfItEnds) {
  send_and_forget(1, 100);
  ASSERT_EQ(replay({.destination = source_path}).error, Errc::ok);
  run_to_end();
  EXPECT_EQ(tasks()[0].sent, 100u);
  expect_once(bodies_of(source, zero), 1, 100);
}

TEST_F(ReplayTest, TakesATimeRangeAlone) {
  send_and_forget(1, 20);
  rest(61'000'000);  // allows the next purge
  const Instant begin = world.now();
  send_and_forget(21, 20);
  rest(61'000'000);
  const Instant end = world.now();
  send_and_forget(41, 20);
  ASSERT_EQ(replay({.destination = target_path, .from = begin, .to = end}).error, Errc::ok);
  run_to_end();
  expect_once(bodies_of(target, one), 21, 20);
}

TEST_F(ReplayTest, TakesWhatAFilterWants) {
  for (std::uint32_t i = 0; i < 2; ++i) world.loop(i).filter_replays_with(make_filter);
  for (int i = 0; i < 20; ++i) {
    const std::string body = std::to_string(i);
    SendEntry entry;
    entry.content.body = body;
    entry.content.attributes = i % 4 == 0 ? "red" : "blue";
    Request request;
    request.op = Op::send;
    request.queue = source;
    request.sends = {&entry, 1};
    ASSERT_TRUE(ask(request, zero));
  }
  ASSERT_EQ(replay({.destination = target_path, .filter = "red"}).error, Errc::ok);
  run_to_end();
  const auto seen = bodies_of(target, one);
  EXPECT_EQ(seen.size(), 5u);
  for (const auto& [body, times] : seen) EXPECT_TRUE(body % 4 == 0 && times == 1) << body;

  ASSERT_EQ(replay({.destination = target_path, .filter = "bad"}).error, Errc::ok);
  run_to_end();
  EXPECT_EQ(tasks()[0].status, Status::failed);
  EXPECT_EQ(tasks()[0].failure, Errc::invalid);
}

TEST_F(ReplayTest, IsAsFastAsItsRate) {
  send_and_forget(1, 200);
  ASSERT_EQ(replay({.destination = target_path, .rate = 20}).error, Errc::ok);
  run(1'000'000);
  const std::uint64_t sent = tasks()[0].sent;
  EXPECT_GE(sent, 18u);
  EXPECT_LE(sent, 24u);
  run(5'000'000);
  EXPECT_GE(tasks()[0].sent - sent, 98u);
  EXPECT_LE(tasks()[0].sent - sent, 102u);
  run_to_end();
  expect_once(bodies_of(target, one), 1, 200);
}

TEST_F(ReplayTest, OneRunsAtATimeAndCanBeCancelled) {
  send_and_forget(1, 200);
  ASSERT_EQ(replay({.destination = target_path, .rate = 10}).error, Errc::ok);
  EXPECT_EQ(replay({.destination = target_path}).error, Errc::task_running);
  run(1'000'000);
  EXPECT_EQ(cancel(2).error, Errc::no_such_task);
  const Asked cancelled = cancel(1);
  ASSERT_EQ(cancelled.error, Errc::ok);
  EXPECT_GT(cancelled.params.sent, 0u);
  EXPECT_EQ(cancel(1).error, Errc::task_ended);
  run(2'000'000);
  EXPECT_EQ(tasks()[0].status, Status::cancelled);
  EXPECT_LE(count_of(target, one), cancelled.params.sent + 1);
  ASSERT_EQ(replay({.destination = target_path}).error, Errc::ok);
  run_to_end();
  EXPECT_EQ(tasks()[0].number, 2u);
  EXPECT_EQ(tasks()[0].sent, 200u);
}

// Queue `source`, which waits, has the lower id: it was created before `late`.
TEST_F(ReplayTest, OfASecondQueueWaitsAndDoublesNothing) {
  set(target, {Attribute::replay_retention, 3600, {}});
  const QueueId late = make("0/" + name_on(zero, "late"));
  set(late, {Attribute::replay_retention, 3600, {}});
  std::vector<std::string> bodies;
  for (int i = 0; i < 600; ++i) bodies.push_back(std::to_string(i));
  send(late, zero, bodies);
  send_and_forget(1000, 300);
  ASSERT_EQ(replay({.destination = target_path, .rate = 1000}, late).error, Errc::ok);
  for (int i = 0; i < 10; ++i) {
    run(7'000);
    ASSERT_EQ(replay({.destination = target_path}).error, Errc::ok);
    run(7'000);
    if (i < 9) {
      ASSERT_EQ(cancel(static_cast<std::uint32_t>(i) + 1).error, Errc::ok) << "it waits";
    }
  }
  run_to_end();
  EXPECT_EQ(tasks()[0].sent, 300u);
  const auto seen = bodies_of(target, one);
  EXPECT_EQ(seen.size(), 900u);
  for (const auto& [body, times] : seen) EXPECT_EQ(times, 1) << body;
}

TEST_F(ReplayTest, WhatIsKeptGivesWayWhenTheDiskIsFull) {
  const auto send_and_delete = [&](int first, int n) {
    for (int i = first; i < first + n; ++i) {
      std::string body = std::to_string(i) + " ";
      body.resize(11'500, 'x');
      SendEntry entry;
      entry.content.body = body;
      Request request;
      request.op = Op::send;
      request.queue = source;
      request.sends = {&entry, 1};
      ASSERT_TRUE(ask(request, zero));
      ASSERT_EQ(request.error, Errc::ok) << i;
      const auto got = receive(source, zero);
      ASSERT_EQ(got.size(), 1u);
      delete_messages(source, zero, got);
      rest(600'000);
    }
  };
  send_and_delete(0, 40);
  const std::uint64_t kept = world.loop(0).log().stats().replay_bytes;
  EXPECT_GT(kept, 5u * (64 << 10));
  world.disk(0).set_capacity(world.disk(0).bytes_used());
  send_and_delete(40, 60);
  EXPECT_LE(world.loop(0).log().stats().replay_bytes, kept + 3 * (64 << 10));
  ASSERT_EQ(replay({.destination = target_path}).error, Errc::ok);
  run_to_end();
  EXPECT_EQ(tasks()[0].status, Status::completed);
  EXPECT_GT(tasks()[0].sent, 15u);
  EXPECT_LT(tasks()[0].sent, 60u);
}

TEST_F(ReplayTest, OfAQueueThatKeepsNothingIsRefused) {
  const QueueId plain = make("0/" + name_on(zero, "plain"));
  EXPECT_EQ(replay({.destination = target_path}, plain).error, Errc::not_kept);
  set(source, {Attribute::replay_retention, 0, {}});
  EXPECT_EQ(replay({.destination = target_path}).error, Errc::not_kept);
}

TEST_F(ReplayTest, FailsWhenItsDestinationHasGone) {
  send_and_forget(1, 200);
  ASSERT_EQ(replay({.destination = target_path, .rate = 10}).error, Errc::ok);
  run(500'000);
  drop(target);
  run(1'000'000);
  EXPECT_EQ(tasks()[0].status, Status::failed);
  EXPECT_EQ(tasks()[0].failure, Errc::no_such_queue);
}

// Source and target have 300 message numbers each.
class UsedUpReplay : public ReplayTest {
 protected:
  static Plan plan() {
    Plan plan = calm_plan(2);
    plan.first_number = seq_newest_max - 299;
    return plan;
  }
  UsedUpReplay() : ReplayTest(plan()) {}
};

TEST_F(UsedUpReplay, FailsWhenItsDestinationHasNoNumbersLeft) {
  send_and_forget(1, 200);
  for (const auto& [sent, failure] :
       {std::pair(200u, Errc::ok), std::pair(100u, Errc::message_numbers_used_up),
        std::pair(0u, Errc::message_numbers_used_up)}) {
    ASSERT_EQ(replay({.destination = target_path}).error, Errc::ok);
    run_to_end();
    EXPECT_EQ(tasks()[0].status, failure == Errc::ok ? Status::completed : Status::failed);
    EXPECT_EQ(tasks()[0].failure, failure);
    EXPECT_EQ(tasks()[0].sent, sent);
  }
  run(200'000);
  world.crash(Crash::power);
  ASSERT_EQ(world.start(0), Start::up);
  EXPECT_EQ(tasks()[0].failure, Errc::message_numbers_used_up);
  EXPECT_EQ(count_of(target, one), 300u);
  EXPECT_EQ(receive(target, one).size(), 10u);
}

TEST_F(ReplayTest, GoesWithItsQueue) {
  send_and_forget(1, 200);
  ASSERT_EQ(replay({.destination = target_path, .rate = 10}).error, Errc::ok);
  run(500'000);
  drop(source);
  run(1'000'000);
  const std::uint64_t sent = count_of(target, one);
  run(1'000'000);
  EXPECT_EQ(count_of(target, one), sent);
  EXPECT_EQ(world.loop(0).shard().replays().under_way(), nullptr);
  EXPECT_EQ(world.loop(0).shard().replays().retention(), Duration{0});
}

TEST_F(ReplayTest, ARetentionThatIsOverLetsSegmentsGo) {
  const auto send_large = [&](int n) {
    for (int i = 0; i < n; ++i) {
      send({std::string(11'500, 'x')});
      rest(61'000'000);
      purge(source, zero);
    }
  };
  const auto files = [&] { return world.loop(0).log().stats().segments; };
  send_large(100);  // 1.2 MB in 100 minutes; an hour of it is kept
  EXPECT_GT(files(), 12u);
  EXPECT_LT(files(), 24u);
  EXPECT_GT(world.loop(0).log().stats().replay_bytes, 0u);
  ASSERT_EQ(replay({.destination = target_path}).error, Errc::ok);
  run_to_end();
  EXPECT_GE(tasks()[0].sent, 57u);
  EXPECT_LE(tasks()[0].sent, 60u);
  set(source, {Attribute::replay_retention, 0, {}});
  send_large(8);
  EXPECT_LT(files(), 8u);
  EXPECT_EQ(world.loop(0).log().stats().replay_bytes, 0u);
}

TEST_F(ReplayTest, TellsHowMuchItCouldNotRead) {
  send_and_forget(1, 300);
  world.disk(0).fail(IoKind::read, EIO, 1);
  ASSERT_EQ(replay({.destination = target_path}).error, Errc::ok);
  run_to_end();
  const ReplayTask first = tasks()[0];
  EXPECT_EQ(first.status, Status::completed);
  EXPECT_GE(first.unreadable, 1u);
  EXPECT_LE(first.unreadable, std::uint64_t{16 << 10});
  EXPECT_LT(first.sent, 300u);
  EXPECT_EQ(bodies_of(target, one).size(), first.sent);
  world.crash(Crash::power);
  ASSERT_EQ(world.start(0), Start::up);
  EXPECT_EQ(tasks()[0], first);
  // The next task can read all of it.
  ASSERT_EQ(replay({.destination = target_path}).error, Errc::ok);
  run_to_end();
  EXPECT_EQ(tasks()[0].unreadable, 0u);
  EXPECT_EQ(tasks()[0].sent, 300u);
}

TEST_F(ReplayTest, AStopWaitsForWhatIsUnderWayAndTheNextStartGoesOn) {
  send_and_forget(1, 500);
  ASSERT_EQ(replay({.destination = target_path, .rate = 1000}).error, Errc::ok);
  run(200'000);
  for (std::uint32_t i = 0; i < 2; ++i) world.loop(i).begin_drain();
  run(100'000);
  EXPECT_TRUE(world.loop(0).drained() && world.loop(1).drained());
  world.crash(Crash::process);
  ASSERT_EQ(world.start(0), Start::up);
  EXPECT_EQ(tasks()[0].status, Status::running);
  run_to_end();
  EXPECT_EQ(tasks()[0].sent, 500u);
  expect_once(bodies_of(target, one), 1, 500);
}

// The process dies, or power fails, at any moment: no message is left out, and a crash duplicates
// at most one batch.
TEST_F(ReplayTest, SurvivesCrashes) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    constexpr int all = 700;
    const int first = static_cast<int>(seed) * 1000;
    send_and_forget(first, all);
    rest(61'000'000);
    const Instant begin = world.now();
    send_and_forget(first + 200'000, all);
    const std::uint32_t rate = random.chance(1, 2) ? 0 : 5000;
    ASSERT_EQ(replay({.destination = target_path, .rate = rate, .from = begin}).error, Errc::ok);
    int crashes = 0;
    const int crashes_max = 1 + static_cast<int>(seed % 3);
    for (; crashes < crashes_max && tasks().front().status == Status::running; ++crashes) {
      run(random.below(rate == 0 ? 3'000 : 40'000));
      world.crash(random.chance(1, 2) ? Crash::process : Crash::power);
      ASSERT_EQ(world.start(0), Start::up);
    }
    run_to_end();
    ASSERT_EQ(tasks()[0].status, Status::completed);
    const auto seen = bodies_of(target, one);
    int doubled = 0;
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(all));
    for (int i = first + 200'000; i < first + 200'000 + all; ++i) {
      const int times = seen.contains(i) ? seen.at(i) : 0;
      ASSERT_GE(times, 1) << i;
      doubled += times - 1;
    }
    EXPECT_LE(doubled, crashes * static_cast<int>(replay_batch_max));
    rest(61'000'000);
    purge(target, one);
  }
}

// Otherwise a crash could undo the task but not its messages, and the next task would get its
// number.
TEST_F(ReplayTest, SendsNothingBeforeItsStartIsDurable) {
  send_and_forget(1, 700);  // several extents: the task can read the first ones
  world.disk(0).set_delay(1'000'000);
  SendEntry late{.content = {.body = "701"}};
  Request slow;
  slow.op = Op::send;
  slow.queue = source;
  slow.sends = {&late, 1};
  submit(slow, zero);
  run(1000);
  world.disk(0).set_delay(50);  // the log is durable in order, so the start waits for that write
  ReplayParams params{.destination = target_path};
  Request start;
  start.op = Op::start_replay;
  start.queue = source;
  start.replay = &params;
  submit(start, zero);
  run(100'000);
  EXPECT_FALSE(answers.contains(&start));
  EXPECT_EQ(count_of(target, one), 0u);
  run(1'000'000);
  EXPECT_TRUE(answers.contains(&slow));
  EXPECT_TRUE(answers.contains(&start));
  run_to_end();
  EXPECT_EQ(count_of(target, one), 701u);
}

}  // namespace
}  // namespace pawl::sim

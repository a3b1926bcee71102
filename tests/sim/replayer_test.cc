// SPDX-License-Identifier: Apache-2.0
// Replay tasks: messages are sent again, also into a queue of another shard, through crashes.
#include "net/engine/replayer.h"

#include <map>

#include "tests/sim/random.h"
#include "tests/sim/two_shards_fixture.h"

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

class ReplayTest : public TwoShards {
 protected:
  using TwoShards::TwoShards;
  using Status = ReplayTask::Status;

  void SetUp() override {
    ASSERT_EQ(world.start(0), Start::up);
    target_path = "0/" + name_on(one, "target");
    target = make(target_path);
    source_path = "0/" + name_on(zero, "source");
    source = make(source_path);
    set(source, {Attribute::replay_retention, 3600, {}});
  }
  QueueId make(const std::string& path) { return make_queue(path.substr(2), {}); }
  // Advances the time without a turn, then runs for 2 ms.
  void rest(std::uint64_t us) {
    world.advance(us);
    run(2000);
  }
  // Sends `count` messages, with bodies from `first` upwards, and purges them.
  void send_and_forget(int first, int count) {
    std::vector<std::string> bodies;
    for (int i = first; i < first + count; ++i) bodies.push_back(std::to_string(i));
    for (std::size_t at = 0; at < bodies.size(); at += 50) {
      const auto some =
          std::span(bodies).subspan(at, std::min<std::size_t>(50, bodies.size() - at));
      send({some.begin(), some.end()});
    }
    run(1000);
    purge(source, zero);
    EXPECT_EQ(count_of(source, zero), 0u);
  }
  std::uint64_t count_of(QueueId queue, ShardId owner) { return count(queue, owner).visible; }
  struct Asked {
    Errc error = Errc::ok;
    ReplayParams params;
  };
  Asked ask_about(Op op, const ReplayParams& params, QueueId queue, ShardId owner) {
    Asked asked{.params = params};
    Request request;
    request.op = op;
    request.queue = queue;
    request.replay = &asked.params;
    EXPECT_TRUE(ask(request, owner));
    asked.error = request.error;
    return asked;
  }
  Asked replay(const ReplayParams& params, QueueId queue, ShardId owner = zero) {
    return ask_about(Op::start_replay, params, queue, owner);
  }
  Asked replay(const ReplayParams& params) { return replay(params, source); }
  Asked cancel(std::uint32_t number) {
    return ask_about(Op::cancel_replay, {.number = number}, source, zero);
  }
  std::vector<ReplayTask> tasks() {
    return ask_about(Op::list_replays, {}, source, zero).params.tasks;
  }
  void run_to_end() {
    for (int i = 0; i < 200 && tasks().front().status == Status::running; ++i) run(50'000);
  }
  // Returns all bodies in a queue, and how often each comes.
  std::map<int, int> bodies_of(QueueId queue, ShardId owner) {
    std::map<int, int> seen;
    for (;;) {
      const auto some = receive(queue, owner);
      if (some.empty()) return seen;
      for (const Received& r : some) ++seen[std::stoi(r.body)];
    }
  }
  void expect_once(const std::map<int, int>& seen, int first, int count) {
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(count));
    for (int i = first; i < first + count; ++i)
      EXPECT_EQ(seen.contains(i) ? seen.at(i) : 0, 1) << i;
  }

  std::string source_path, target_path;
};

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
      body.resize(12'000, 'x');
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
  EXPECT_EQ(world.loop(0).shard().replay_under_way(), nullptr);
  EXPECT_EQ(world.loop(0).shard().replay_retention(), Duration{0});
}

TEST_F(ReplayTest, ARetentionThatIsOverLetsSegmentsGo) {
  const auto send_large = [&](int n) {
    for (int i = 0; i < n; ++i) {
      send({std::string(12'000, 'x')});
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

// Replay from a FIFO queue to another one.
class FifoReplay : public ReplayTest {
 protected:
  static constexpr int all = 40;

  void SetUp() override {
    ASSERT_EQ(world.start(0), Start::up);
    const std::vector<AttributeChange> fifo = {
        {Attribute::fifo_queue,       1,    {}},
        {Attribute::replay_retention, 3600, {}}
    };
    const std::string from = name_on(zero, "from") + ".fifo", into = name_on(one, "into") + ".fifo";
    source = make_queue(from, fifo);
    target = make_queue(into, fifo);
    source_owner = shard_of("0", from, 2);
    target_owner = shard_of("0", into, 2);
    destination = "0/" + into;
    for (int i = 0; i < all; ++i) {
      const std::string body = std::to_string(i), group = "g" + std::to_string(i % 3);
      SendEntry entry;
      entry.content = {.body = body, .group = group, .dedup_id = body};
      Request request;
      request.op = Op::send;
      request.queue = source;
      request.sends = {&entry, 1};
      ASSERT_TRUE(ask(request, source_owner));
    }
  }
  void die(Crash kind) {
    world.crash(kind);
    ASSERT_EQ(world.start(0), Start::up);
  }
  // Receives all messages of the target, checks the order in each group, and returns their number.
  int take_in_order() {
    std::map<std::string, int> last;
    int got = 0;
    for (;;) {
      const auto some = receive(target, target_owner);
      if (some.empty()) return got;
      for (const Received& r : some) {
        const int n = std::stoi(r.body);
        int& before = last.try_emplace("g" + std::to_string(n % 3), -1).first->second;
        EXPECT_GT(n, before);
        before = n;
        ++got;
      }
      delete_messages(target, target_owner, some);
    }
  }

  ShardId source_owner{}, target_owner{};
  std::string destination;
};

TEST_F(FifoReplay, KeepsOrderAndDoublesNothing) {
  const ReplayParams asked{.destination = destination, .rate = 100};
  ASSERT_EQ(replay(asked, source, source_owner).error, Errc::ok);
  Random random(7);
  for (int i = 0; i < 6; ++i) {
    run(random.below(80'000));
    die(random.chance(1, 2) ? Crash::process : Crash::power);
  }
  run(2'000'000);
  EXPECT_EQ(take_in_order(), all);
}

// After a crash the skipped part can be read, but its messages must not come after later ones.
TEST_F(FifoReplay, DoesNotComeBackToWhatItPassedOver) {
  int whole = 0;
  constexpr int times = 60;
  for (int i = 0; i < times; ++i) {
    SCOPED_TRACE(i);
    world.disk(raw(source_owner)).fail(IoKind::read, EIO, 1);
    ReplayParams asked{.destination = destination};
    Request start;
    start.op = Op::start_replay;
    start.queue = source;
    start.replay = &asked;
    submit(start, source_owner);
    SendReader& reader = world.loop(raw(source_owner)).log().send_reader();
    for (int steps = 0; steps < 10'000 && reader.passed_over() == 0; ++steps) run(20);
    ASSERT_GT(reader.passed_over(), 0u);
    run(static_cast<std::uint64_t>(i) * 20);
    die(Crash::power);
    run(2'000'000);
    const int got = take_in_order();
    const ReplayTask task =
        ask_about(Op::list_replays, {}, source, source_owner).params.tasks.front();
    EXPECT_EQ(task.status, Status::completed);
    EXPECT_EQ(task.sent, static_cast<std::uint64_t>(got));
    EXPECT_EQ(task.unreadable == 0, got == all);
    whole += got == all ? 1 : 0;
  }
  EXPECT_GT(whole, 0);
  EXPECT_LT(whole, times);
}

// --- with all other traffic ---

Plan busy_plan(std::uint64_t seed) {
  Random random = Random(seed).split("plan");
  Plan plan = calm_plan(2);
  plan.seed = seed;
  plan.extra_turns = 5;
  plan.slice_entries = 1 + random.below(50);
  plan.disk.delay_us_min = 50;
  plan.disk.delay_us_max = 50 + random.below(10'000);
  plan.log.dead_bytes_max = 0;  // relocates as much as possible
  plan.log.memory_max = 64 * plan.log.extent_bytes;
  return plan;
}

// Senders and receivers go on while segments are reused and relocated, processes die and power
// fails.
class BusyReplay : public ReplayTest, public testing::WithParamInterface<std::uint64_t> {
 protected:
  BusyReplay() : ReplayTest(busy_plan(GetParam())) {}

  // Submits a request and waits for the response. False: the broker died meanwhile, and has started
  // again.
  bool ask_or_die(Request& request, ShardId to) {
    submit(request, to);
    for (int i = 0; i < 1000 && !answers.contains(&request); ++i) {
      run(1000);
      if (!random.chance(1, 2000)) continue;
      die();
      return false;
    }
    EXPECT_TRUE(answers.contains(&request)) << "it is not answered in a second";
    return true;
  }
  void die() {
    world.crash(random.chance(1, 2) ? Crash::process : Crash::power);
    ASSERT_EQ(world.start(0), Start::up);
    ++crashes;
  }
  void send_some() {
    std::vector<std::string> bodies(1 + random.below(10));
    std::vector<SendEntry> entries(bodies.size());
    const int first = next;
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      bodies[i] = std::to_string(next++) + " ";
      bodies[i].resize(10 + random.below(4000), 'x');
      entries[i].content.body = bodies[i];
      if (random.chance(1, 10)) entries[i].delay = seconds(1);
    }
    Request request;
    request.op = Op::send;
    request.queue = source;
    request.sends = entries;
    const Instant asked = world.now();
    if (!ask_or_die(request, zero) || request.error != Errc::ok) return;
    for (int n = first; n < next; ++n) sent[n] = asked;
  }
  // Receives messages and deletes most of them at once; the others are visible again after 2 s.
  void receive_some() {
    std::vector<Delivery> deliveries(10);
    Request request;
    request.op = Op::receive;
    request.queue = source;
    request.receive = {.max = 10, .visibility = seconds(2), .wait = Duration{0}};
    request.deliveries = deliveries;
    received.clear();
    if (!ask_or_die(request, zero)) return;
    std::vector<ReceiptEntry> entries;
    for (const Received& r : received)
      if (!random.chance(1, 20)) entries.push_back({.handle = r.handle});
    if (entries.empty()) return;
    Request deletion;
    deletion.op = Op::delete_message;
    deletion.queue = source;
    deletion.receipts = entries;
    ask_or_die(deletion, zero);
  }
  void some_traffic(int acts) {
    for (; acts > 0; --acts) {
      if (random.chance(1, 20)) rest(random.below(2'000'000));
      random.chance(1, 2) ? send_some() : receive_some();
    }
  }
  void run_busily_to_end() {
    for (int i = 0; i < 400 && tasks().front().status == Status::running; ++i) {
      some_traffic(1);
      if (random.chance(1, 12)) die();
      run(5000);
    }
    ASSERT_EQ(tasks().front().status, Status::completed);
  }

  Random random{GetParam()};
  int next = 1;
  int crashes = 0;
  std::map<int, Instant> sent;  // acknowledged messages, with the times of their requests
};

TEST_P(BusyReplay, LeavesNothingOutAndDoublesOneBatchACrashAtMost) {
  set(source, {Attribute::replay_retention, 60, {}});
  for (int round = 0; round < 4; ++round) {
    some_traffic(60);
    const Instant from = world.now() - seconds(static_cast<std::int64_t>(random.below(40)));
    const std::map<int, Instant> before = sent;
    const std::uint32_t rate = random.chance(1, 2) ? 0 : 2000;
    const Asked asked = replay({.destination = target_path, .rate = rate, .from = from});
    ASSERT_EQ(asked.error, Errc::ok);
    const int crashes_before = crashes, sent_before = next;
    run_busily_to_end();
    if (testing::Test::HasFatalFailure()) return;
    const std::map<int, int> seen = bodies_of(target, one);
    int doubled = 0;
    for (const auto& [body, times] : seen) {
      EXPECT_LT(body, sent_before) << "it was sent after the task was started";
      doubled += times - 1;
    }
    EXPECT_LE(doubled, (crashes - crashes_before) * static_cast<int>(replay_batch_max));
    for (const auto& [body, at] : before) {
      if (at > from) {
        EXPECT_TRUE(seen.contains(body)) << body;
      }
    }
    rest(61'000'000);
    purge(target, one, 1'000'000);
    run(100'000);
    EXPECT_EQ(count_of(target, one), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(, BusyReplay, testing::Range<std::uint64_t>(1, 41));

}  // namespace
}  // namespace pawl::sim

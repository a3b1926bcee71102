// SPDX-License-Identifier: Apache-2.0
// Replay from a FIFO queue to another one: order within a group and deduplication, through crashes.
#include "tests/sim/random.h"
#include "tests/sim/replay_fixture.h"

namespace pawl::sim {
namespace {

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

}  // namespace
}  // namespace pawl::sim

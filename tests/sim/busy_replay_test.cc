// SPDX-License-Identifier: Apache-2.0
// Replay tasks together with all other traffic.
#include "tests/sim/random.h"
#include "tests/sim/replay_fixture.h"

namespace pawl::sim {
namespace {

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

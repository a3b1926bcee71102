// SPDX-License-Identifier: Apache-2.0
// Log size during a day of a broker with a constant depth, while some messages are never received.
#include <algorithm>
#include <deque>
#include <set>

#include "tests/sim/shard_loop_fixture.h"

namespace pawl::sim {
namespace {

class SteadyTest : public ShardLoopTest {
 protected:
  static constexpr std::size_t body_bytes = 1000, record_bytes_max = 1100;
  static constexpr std::uint64_t minute_us = 60'000'000;

  void on_response(ShardId shard, Request& request) override {
    ShardLoopTest::on_response(shard, request);
    for (const Delivery& d : request.deliveries.first(request.delivered))
      bodies.emplace(d.content.body);
  }
  void ask(Request& request) {
    world->submit(request, zero, zero);
    for (int i = 0; i < 1000 && !is_answered(request); ++i) run(1'000);
    ASSERT_TRUE(is_answered(request));
    ASSERT_EQ(request.error, Errc::ok);
    answers.clear();
  }
  void send(QueueId queue, int count) {
    std::deque<std::string> texts;
    std::vector<SendEntry> entries(static_cast<std::size_t>(count));
    for (SendEntry& entry : entries) {
      texts.push_back("message " + std::to_string(++sent));
      texts.back().resize(body_bytes, '.');
      entry.content.body = texts.back();
    }
    Request request;
    request.op = Op::send;
    request.queue = queue;
    request.sends = entries;
    ask(request);
  }
  std::uint32_t fetch(QueueId queue, std::uint32_t count) {
    std::vector<Delivery> deliveries(count);
    Request receive;
    receive.op = Op::receive;
    receive.queue = queue;
    receive.receive.max = count;
    receive.receive.wait = Duration{0};
    receive.deliveries = deliveries;
    ask(receive);
    if (receive.delivered == 0) return 0;
    std::vector<ReceiptEntry> receipts(receive.delivered);
    for (std::uint32_t i = 0; i < receive.delivered; ++i) receipts[i].handle = deliveries[i].handle;
    Request deletion;
    deletion.op = Op::delete_message;
    deletion.queue = queue;
    deletion.receipts = receipts;
    ask(deletion);
    return receive.delivered;
  }

  std::uint64_t sent = 0;
  std::set<std::string> bodies;
};

TEST_F(SteadyTest, ADayOfAQueueKeepsItsLogSmall) {
  Plan plan = calm_plan(1);
  plan.log.dead_bytes_max = 16 * plan.log.segment_bytes;  // 1 GiB with segments of 64 MiB
  start(plan);
  const QueueId hot = make_queue(zero), cold = make_queue(zero, "cold");
  for (int i = 0; i < 30; ++i) send(hot, 10);
  std::uint64_t most = 0, written = 0;
  for (int minute = 0; minute < 24 * 60; ++minute) {
    for (int i = 0; i < 3; ++i) send(hot, 10);
    if (minute % 2 == 0) send(cold, 1);
    for (std::uint32_t left = 30; left > 0;) left -= fetch(hot, 10);
    world->advance(minute_us);
    run(3'000);
    const LogStats stats = world->loop(0).log().stats();
    const std::uint64_t live = world->loop(0).shard().messages() * record_bytes_max;
    const std::uint64_t used = stats.used_bytes;
    most = std::max(most, used - std::min(used, 2 * live));
    written = stats.bytes_written;
  }
  RecordProperty("most_bytes_beyond_twice_the_live", std::to_string(most));
  RecordProperty("bytes_written", std::to_string(written));
  const LogStats stats = world->loop(0).log().stats();
  EXPECT_GT(written, 20 * most) << "the log went round many times";
  EXPECT_GT(stats.relocated_bytes, 0u);
  EXPECT_LT(stats.relocated_bytes, written / 4) << "and not by saying everything again and again";
  // The tail, and data that died since the log reached its latest segment.
  EXPECT_LE(most, plan.log.dead_bytes_max + 3 * plan.log.segment_bytes);

  world->crash(Crash::power);
  ASSERT_EQ(world->start(0), Start::up);
  bodies.clear();
  std::uint32_t come = 0;
  while (const std::uint32_t some = fetch(cold, 10)) come += some;
  EXPECT_EQ(come, 24 * 60 / 2);
  EXPECT_EQ(bodies.size(), std::size_t{come}) << "each once";
}

}  // namespace
}  // namespace pawl::sim

// SPDX-License-Identifier: Apache-2.0
// Peeks through the shard loop: bodies in memory and on the disk, for this shard and for another.
#include <map>
#include <string>
#include <vector>

#include "tests/sim/shard_loop_fixture.h"

namespace pawl::sim {
namespace {

constexpr ShardId one{1};

class PeekTest : public ShardLoopTest {
 protected:
  static constexpr int messages = 100;

  // Bodies of 2000 bytes; most of them are only on the disk.
  QueueId fill() {
    Plan plan = calm_plan(2);
    plan.log.memory_max = 6 * plan.log.extent_bytes;
    start(plan);
    const QueueId queue = make_queue(zero);
    for (int i = 0; i < messages; ++i) {
      send(queue, std::to_string(1000 + i) + std::string(1996, 'x'));
      run(20'000);
    }
    return queue;
  }

  // One slice. Adds the bodies that came, and returns the begin of the next slice.
  Seq peek(QueueId queue, ShardId home, Seq from, std::uint64_t bytes_max,
           std::map<Seq, std::string>& bodies) {
    std::vector<Delivery> deliveries(64);
    PeekSlice slice{.from = from};
    Request request;
    request.op = Op::peek;
    request.queue = queue;
    request.peek = &slice;
    request.receive.bytes_max = bytes_max;
    request.deliveries = deliveries;
    answers.clear();
    world->submit(request, home, zero);
    run(100'000);
    EXPECT_TRUE(is_answered(request));
    EXPECT_EQ(request.error, Errc::ok);
    EXPECT_FALSE(slice.messages.empty());
    EXPECT_EQ(request.delivered + request.unreadable, slice.messages.size());
    for (std::size_t i = 0; i < request.delivered; ++i)
      bodies[deliveries[i].seq] = std::string(deliveries[i].content.body.substr(0, 4));
    return slice.next;
  }
};

TEST_F(PeekTest, ReadsEachBodyOnceInSlicesOfTheBytesAskedFor) {
  const QueueId queue = fill();
  for (const ShardId home : {zero, one}) {
    SCOPED_TRACE(raw(home));
    std::map<Seq, std::string> bodies;
    int slices = 0;
    Seq from = 0;
    do {
      const std::size_t before = bodies.size();
      from = peek(queue, home, from, 9000, bodies);
      EXPECT_LE(bodies.size() - before, 5u + ShardLoop::wants_max);
      ++slices;
    } while (from != 0);
    EXPECT_GE(slices, messages / static_cast<int>(5 + ShardLoop::wants_max));
    ASSERT_EQ(bodies.size(), std::size_t{messages});
    for (const auto& [seq, body] : bodies) EXPECT_EQ(body, std::to_string(999 + seq));
  }
  EXPECT_GT(world->loop(0).log().stats().bodies_read, 0u);
  EXPECT_EQ(world->loop(0).stats().received, 0u);
}

// A receive sets a message aside whose body cannot be read. A peek leaves it there.
TEST_F(PeekTest, LeavesAMessageWhoseBodyItCannotRead) {
  const QueueId queue = fill();
  std::map<Seq, std::string> bodies;
  world->disk(0).fail(IoKind::read, EIO, 0, true);
  EXPECT_EQ(peek(queue, zero, 0, UINT64_MAX, bodies), 65u);
  EXPECT_LT(bodies.size(), 64u);
  EXPECT_EQ(world->loop(0).stats().unreadable, 0u);
  EXPECT_EQ(world->loop(0).shard().set_aside(), 0u);
  world->disk(0).heal();
  bodies.clear();
  peek(queue, one, 0, UINT64_MAX, bodies);
  EXPECT_EQ(bodies.size(), 64u);
}

}  // namespace
}  // namespace pawl::sim

// SPDX-License-Identifier: Apache-2.0
// The memory account checked against --memory covers the real allocations of a shard under every
// load.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "tests/core/allocations.h"
#include "tests/core/shard_harness.h"

namespace pawl::test {
namespace {

constexpr std::uint64_t slack_bytes = 256 << 10;

std::vector<AttributeChange> fifo() {
  return {
      {Attribute::fifo_queue, 1, {}}
  };
}

// A ShardHarness, and the broker's bytes beyond those that earlier tests hold.
class Account : public testing::Test {
 protected:
  QueueId make(const std::string& name, std::vector<AttributeChange> changes = {}) {
    return world_.create(name, std::move(changes)).request.config->id;
  }
  void send(QueueId queue, std::size_t count, Duration delay = queue_default) {
    for (std::size_t sent = 0; sent < count; sent += 10)
      world_.send(queue, std::vector<std::string>(10, "body"), delay);
  }
  std::vector<ReceiptHandle> receive(QueueId queue, std::size_t count,
                                     Duration visibility = seconds(43'200)) {
    std::vector<ReceiptHandle> handles;
    while (handles.size() < count) {
      const Ask& ask = world_.receive(queue, {.max = 10, .visibility = visibility});
      if (ask.request.delivered == 0) break;
      for (const Delivery& delivery : ask.request.deliveries.first(ask.request.delivered))
        handles.push_back(delivery.handle);
    }
    return handles;
  }
  void expect_covered(const char* load) {
    const std::uint64_t held = BrokerMemory::held() - before_;
    const std::uint64_t account = world_.shard().memory().sum();
    std::printf("%-32s account %10lu held %10lu\n", load, account, held);
    EXPECT_LE(held, account + account * 15 / 100 + slack_bytes) << load;
  }

  const std::uint64_t before_ = BrokerMemory::held();
  ShardHarness world_;
};

TEST_F(Account, CoversWhatWaits) {
  const QueueId queue = make("q");
  send(queue, 100'000);
  expect_covered("100,000 messages");
  const std::vector<ReceiptHandle> handles = receive(queue, 100'000);
  ASSERT_EQ(handles.size(), 100'000u);
  expect_covered("100,000 in flight");
  EXPECT_LE(world_.shard().memory().sum(), 100'000u * 24) << "they were received in tens";
  world_.plain(Op::purge, queue);
  expect_covered("purged");
  world_.plain(Op::delete_queue, queue);
  expect_covered("deleted");
  EXPECT_LE(world_.shard().memory().sum(), std::uint64_t{4} << 20);
  EXPECT_LE(BrokerMemory::held() - before_, std::uint64_t{4} << 20);
}

TEST_F(Account, CoversWhatIsDelayed) {
  const QueueId queue = make("q");
  send(queue, 100'000, seconds(900));
  expect_covered("100,000 delayed");
  world_.advance(seconds(901));
  expect_covered("100,000 after their delay");
}

// Ten messages of each page are left, so that the cost of sparse pages counts.
TEST_F(Account, CoversStragglers) {
  const QueueId queue = make("q");
  for (int page = 0; page < 300; ++page) {
    send(queue, 1020);
    const std::vector<ReceiptHandle> handles = receive(queue, 1020);
    for (std::size_t i = 10; i < handles.size(); ++i)
      world_.receipts(Op::delete_message, queue, {handles[i]});
  }
  expect_covered("stragglers");
}

TEST_F(Account, CoversPagesOfWhatIsReady) {
  constexpr std::size_t pages = 100'000;
  std::uint64_t counted = 0;
  {
    const BrokerMemory scope;
    PagePool pool;
    SeqIndex index(pool);
    for (std::size_t n = 0; n < pages; ++n) {
      index.put(n * SeqIndex::page_entries + 1, IndexEntry::log(n + 1));
      index.make_ready(n * SeqIndex::page_entries + 1, SeqIndex::Set::fresh);
    }
    counted = pool.bytes();
    const std::uint64_t held = BrokerMemory::held() - before_;
    std::printf("%-32s account %10lu held %10lu\n", "100,000 sparse pages", counted, held);
    EXPECT_LE(held, counted + counted * 15 / 100 + slack_bytes);
    while (index.drain_page([](Seq, IndexEntry) {})) {
    }
    EXPECT_LE(pool.bytes(), 64u << 10);
  }
}

TEST_F(Account, CoversGroupsAndWhatTheySent) {
  const QueueId queue = make("q.fifo", fifo());
  for (int i = 0; i < 100'000; ++i) {
    const std::string name = std::to_string(i);
    world_.send_grouped(queue, {
                                   {.body = "body", .group = name, .dedup_id = name}
    });
  }
  expect_covered("100,000 groups");
  world_.plain(Op::purge, queue);
  expect_covered("groups purged");
  EXPECT_LE(BrokerMemory::held() - before_, std::uint64_t{4} << 20);
}

TEST_F(Account, CoversManyFifoQueuesOfOneMessage) {
  for (int i = 0; i < 5'000; ++i) {
    const QueueId queue = make("q" + std::to_string(i) + ".fifo", fifo());
    world_.send_grouped(queue, {
                                   {.body = "body", .group = "group", .dedup_id = "1"}
    });
  }
  expect_covered("5,000 FIFO queues");
  EXPECT_LE(BrokerMemory::held() - before_,
            5'000u * 3'600);  // with their configs and table entries
  for (std::uint32_t id = 1; id <= 5'000; ++id) world_.plain(Op::delete_queue, QueueId{id});
  world_.forget_asks();
  expect_covered("FIFO queues deleted");
  EXPECT_LE(BrokerMemory::held() - before_, std::uint64_t{4} << 20);
}

TEST_F(Account, CoversAttempts) {
  const QueueId queue = make("q.fifo", fifo());
  for (int i = 0; i < 10'000; ++i) {
    const std::string name = std::to_string(i);
    world_.send_grouped(queue, {
                                   {.body = "body", .group = name, .dedup_id = name}
    });
    world_.receive(queue, {.max = 1, .visibility = seconds(43'200), .attempt = name});
  }
  expect_covered("10,000 attempts");
}

TEST_F(Account, CoversLongPolls) {
  const QueueId queue = make("q.fifo", fifo());
  for (int i = 0; i < 50'000; ++i)
    world_.receive(queue, {.wait = seconds(20), .attempt = std::to_string(i)});
  expect_covered("50,000 long polls");
  world_.advance(seconds(21));
  ASSERT_EQ(world_.shard().waiting(), 0u);
  expect_covered("long polls over");
}

TEST_F(Account, CoversQueuesWithLongNamesAndTags) {
  for (int i = 0; i < 20'000; ++i) {
    Ask ask;
    ask.request.op = Op::create_queue;
    ask.spec = {
        .account = "000000000000",
        .name = std::string(70, 'n') + std::to_string(i),
        .changes = {{Attribute::policy, -1, std::string(200, 'p')}},
        .tags = {{std::string(40, 'k'), std::string(60, 'v')}, {"team", "a"}}
    };
    ask.request.spec = &ask.spec;
    world_.turn(&ask);
    ASSERT_EQ(ask.request.error, Errc::ok);
  }
  expect_covered("20,000 queues");
  for (std::uint32_t id = 1; id <= 20'000; ++id) send(QueueId{id}, 10);
  expect_covered("20,000 queues with messages");
  for (std::uint32_t id = 1; id <= 20'000; ++id) world_.plain(Op::purge, QueueId{id});
  expect_covered("20,000 purged");
  for (std::uint32_t id = 1; id <= 20'000; ++id) world_.plain(Op::delete_queue, QueueId{id});
  world_.forget_asks();
  expect_covered("20,000 deleted");
  EXPECT_LE(BrokerMemory::held() - before_, std::uint64_t{4} << 20);
}

TEST_F(Account, CoversTopicsWithSubscriptions) {
  for (int t = 0; t < 5; ++t) {
    const QueueId topic = world_
                              .create("sns/000000000000", "t" + std::to_string(t),
                                      {
                                          {Attribute::topic, -1, "{}"}
    })
                              .request.config->id;
    std::vector<AttributeChange> rows;
    for (std::int64_t row = 1; row <= 1'000; ++row)
      rows.push_back({Attribute::topic_row, row, std::string(300, 's')});
    world_.set(topic, rows);
  }
  expect_covered("5 topics of 1,000 rows");
}

TEST_F(Account, CoversDeadLettersAndMoves) {
  make("dead");
  const QueueId queue = make("q", {
                                      {Attribute::max_receive_count,  1,  {}                 },
                                      {Attribute::dead_letter_target, -1, "000000000000/dead"}
  });
  send(queue, 20'000);
  receive(queue, 20'000, seconds(1));
  world_.advance(seconds(2));
  receive(queue, 20'000, seconds(1));
  ASSERT_EQ(world_.plain(Op::count, QueueId{1}).request.counts.visible, 20'000u);
  expect_covered("20,000 dead letters");
  world_.start_move(QueueId{1}, "000000000000/q", 500);
  world_.advance(seconds(100));
  ASSERT_EQ(world_.plain(Op::count, queue).request.counts.visible, 20'000u);
  expect_covered("moved back");
}

// Each queue remembers the tasks that moved its messages.
TEST_F(Account, CoversMoveTasks) {
  const std::string destination = "000000000000/" + std::string(80, 'd');
  for (int i = 0; i < 2'000; ++i) {
    const QueueId queue = make("q" + std::to_string(i));
    for (std::size_t task = 0; task < tasks_kept + 2; ++task)
      world_.start_move(queue, destination, 0);
  }
  expect_covered("2,000 queues of 10 move tasks");
  for (std::uint32_t id = 1; id <= 2'000; ++id) world_.plain(Op::delete_queue, QueueId{id});
  world_.forget_asks();
  expect_covered("move tasks deleted");
  EXPECT_LE(world_.shard().memory().sum(), std::uint64_t{1} << 20);
}

TEST_F(Account, CoversReplayTasks) {
  const std::string filter(replay_filter_bytes_max, 'f');
  const auto step = [&](Request& request) {
    Effects effects;
    const BrokerMemory scope;
    world_.shard().apply(request, world_.now(), effects);
  };
  for (int i = 0; i < 100; ++i) {
    const QueueId queue = make("q" + std::to_string(i), {
                                                            {Attribute::replay_retention, 60, {}}
    });
    for (std::size_t task = 0; task < replays_kept; ++task) {
      ReplayParams params{.destination = "000000000000/q", .filter = filter};
      Request start{.op = Op::start_replay, .queue = queue, .replay = &params};
      step(start);
      ASSERT_EQ(start.error, Errc::ok);
      Request cancel{.op = Op::cancel_replay, .queue = queue, .replay = &params};
      step(cancel);
      ASSERT_EQ(cancel.error, Errc::ok);
    }
  }
  expect_covered("1,000 replay tasks");
  for (std::uint32_t id = 1; id <= 100; ++id) {
    Request drop{.op = Op::delete_queue, .queue = QueueId{id}};
    step(drop);
  }
  expect_covered("replay tasks deleted");
  EXPECT_LE(world_.shard().memory().sum(), std::uint64_t{1} << 20);
}

TEST_F(Account, CoversWhatIsSetAside) {
  const QueueId queue = make("q");
  send(queue, 100'000);
  {
    const BrokerMemory scope;
    for (Seq seq = 1; seq <= 100'000; ++seq) world_.shard().set_aside(queue, seq);
  }
  world_.turn(nullptr);
  ASSERT_EQ(world_.plain(Op::count, queue).request.counts.visible, 0u);
  expect_covered("100,000 set aside");
  world_.plain(Op::purge, queue);
  expect_covered("set aside and purged");
  EXPECT_LE(world_.shard().memory().sum(), std::uint64_t{1} << 20);
}

}  // namespace
}  // namespace pawl::test

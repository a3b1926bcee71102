// SPDX-License-Identifier: Apache-2.0
// Space for messages: on a slow disk, on a full disk, and in memory.
#include <algorithm>

#include "tests/sim/shard_loop_fixture.h"

namespace pawl::sim {
namespace {

class FreeSpaceTest : public ShardLoopTest {
 protected:
  void send_many(QueueId queue, int count, std::size_t bytes) {
    for (int i = 0; i < count; ++i) send(queue, std::string(bytes, 'x'));
  }
  // Also forgets all earlier sends.
  void purge(QueueId queue) {
    Request request;
    request.op = Op::purge;
    request.queue = queue;
    world->submit(request, zero, zero);
    run(1'000'000);
    sends.clear();
    answers.clear();
  }
  // Repeats `round` on a disk of 1.5 MiB until it is full. Returns the number of accepted sends.
  template <typename Round>
  std::size_t fill_the_disk(Round&& round) {
    world->disk(0).set_capacity(24 * (64 << 10));
    while (with(Errc::no_space) == 0 && sends.size() < 50'000) {
      round();
      run(10'000);
    }
    run(2'000'000);
    const std::size_t sent = with(Errc::ok);
    EXPECT_EQ(sent + with(Errc::no_space), sends.size());
    sends.clear();
    return sent;
  }
  std::size_t fill_with_small(QueueId queue) {
    return fill_the_disk([&] { send_many(queue, 100, 64); });
  }
  // Whether the response comes within ten seconds, without an error.
  bool ask(Request& request) {
    answers.clear();
    world->submit(request, zero, zero);
    for (int ms = 0; ms < 10'000 && !is_answered(request); ++ms) run(1000);
    return is_answered(request) && request.error == Errc::ok;
  }
  // Receives one message; nothing else is written with its record.
  bool receive(QueueId queue, Delivery& into) {
    Request request;
    request.op = Op::receive;
    request.queue = queue;
    request.receive.max = 1;
    request.receive.wait = Duration{0};
    request.deliveries = {&into, 1};
    return ask(request) && request.delivered == 1;
  }
  bool delete_message(QueueId queue, const Delivery& delivery) {
    ReceiptEntry receipt;
    receipt.handle = delivery.handle;
    Request request;
    request.op = Op::delete_message;
    request.queue = queue;
    request.receipts = {&receipt, 1};
    return ask(request);
  }
  std::size_t with(Errc error) const {
    return static_cast<std::size_t>(std::ranges::count_if(sends, [&](const auto& send) {
      return is_answered(send->request) && send->request.error == error;
    }));
  }
};

TEST_F(FreeSpaceTest, SendsWaitForASegmentThatIsBeingMade) {
  start(1);
  const QueueId queue = make_queue(zero);
  send_many(queue, 200, 2000);  // six segments at once; two exist
  run(100);
  EXPECT_LT(with(Errc::ok), 200u) << "they do not fit, or there is nothing to show";
  run(2'000'000);
  EXPECT_EQ(with(Errc::ok), 200u);
  EXPECT_EQ(world->loop(0).stats().refused, 0u);
}

// A batch may be larger than the space that a log keeps ahead while it rests.
TEST_F(FreeSpaceTest, ABatchLargerThanTheSpaceOfARestingLogIsAccepted) {
  for (const bool small : {true, false}) {
    SCOPED_TRACE(small);
    Plan plan = calm_plan(1);
    plan.log.small_segments = small;
    start(plan);
    const QueueId queue = make_queue(zero);
    run(2'000'000);  // no segment is being made
    const std::string body(11'000, 'x');
    std::vector<SendEntry> entries(10);
    for (SendEntry& entry : entries) entry.content.body = body;
    Request batch;
    batch.op = Op::send;
    batch.queue = queue;
    batch.sends = entries;
    EXPECT_TRUE(ask(batch)) << name_of(batch.error);
    EXPECT_EQ(world->loop(0).stats().refused, 0u);
  }
}

// A refused send has no record: its turn writes nothing whose end would wake the shard. Seed 173443
// of the simulator found it with duplicates in place of refused sends.
TEST_F(FreeSpaceTest, SendsThatOnlyRefusedOnesMadeWaitAreTriedAgain) {
  start(1);
  const QueueId queue = make_queue(zero);
  run(2'000'000);  // no segment is being made
  for (int i = 0; i < 50; ++i) send(QueueId{999}, std::string(10'000, 'x'));
  send(queue, "x");
  run(100'000);
  EXPECT_EQ(with(Errc::no_such_queue), 50u);
  EXPECT_EQ(with(Errc::ok), 1u);
}

// Sends of a connection wait for space, and later requests of that connection for the queue wait
// behind them. Other requests do not wait.
TEST_F(FreeSpaceTest, SendsThatWaitForSpaceAreNotOvertakenByTheirConnection) {
  for (const Op op : {Op::purge, Op::receive, Op::delete_queue}) {
    for (const ShardId owner : {zero, ShardId{1}}) {
      SCOPED_TRACE(testing::Message() << "op " << static_cast<int>(op) << ", shard " << raw(owner));
      sends.clear();
      answers.clear();
      start(2);
      const QueueId queue = make_queue(owner), other = make_queue(owner, "other");
      const int connection = 0;
      for (int i = 0; i < 200; ++i) {
        Send& sent = make_send(queue, std::string(2000, 'x'));
        sent.request.stream = &connection;
        world->submit(sent.request, zero, owner);
      }
      Delivery delivery;
      Request behind, counted;
      behind.op = op;
      behind.queue = queue;
      behind.stream = &connection;
      behind.receive.wait = Duration{0};
      behind.deliveries = {&delivery, 1};
      Request elsewhere = behind, of_another = behind;
      elsewhere.op = of_another.op = Op::count;
      elsewhere.queue = other;
      of_another.stream = &counted;
      world->submit(behind, zero, op == Op::delete_queue ? control_shard : owner);
      world->submit(elsewhere, zero, owner);
      world->submit(of_another, zero, owner);
      run(400);  // a wake-up may take 100 us
      EXPECT_FALSE(is_answered(behind));
      EXPECT_TRUE(is_answered(elsewhere) && is_answered(of_another));
      run(2'000'000);
      ASSERT_TRUE(is_answered(behind));
      EXPECT_EQ(behind.error, Errc::ok);
      EXPECT_EQ(with(Errc::ok), 200u);
      EXPECT_EQ(delivery.seq, op == Op::receive ? 1u : 0u);
      counted.op = Op::count;
      counted.queue = queue;
      world->submit(counted, zero, owner);
      run(10'000);
      EXPECT_EQ(counted.error, op == Op::delete_queue ? Errc::no_such_queue : Errc::ok);
      EXPECT_EQ(counted.counts.visible, op == Op::receive ? 199u : 0u);
    }
  }
}

// Changes of a queue keep their order, also when one waits behind sends and these are gone before
// the next change comes.
TEST_F(FreeSpaceTest, ADeleteDoesNotOvertakeAChangeThatWaits) {
  start(2);
  const ShardId owner{1};
  const QueueId queue = make_queue(owner), other = make_queue(owner, "other");
  for (int i = 0; i < 600; ++i) {
    Send& sent = make_send(i < 100 ? queue : other, std::string(2000, 'x'));
    world->submit(sent.request, zero, owner);
  }
  Request set, gone, counted;
  set.op = Op::set_attributes;
  const AttributeChange delay{Attribute::delay_seconds, 1, ""};
  set.changes = {&delay, 1};
  gone.op = Op::delete_queue;
  counted.op = Op::count;
  set.queue = gone.queue = counted.queue = queue;
  world->submit(set, zero, control_shard);
  for (int i = 0; i < 20'000 && !is_answered(sends[99]->request); ++i) run(100);
  ASSERT_TRUE(is_answered(sends[99]->request));
  ASSERT_FALSE(is_answered(set)) << "the change should wait behind sends to the other queue";
  world->submit(gone, zero, control_shard);
  run(5'000'000);
  EXPECT_TRUE(is_answered(set) && is_answered(gone));
  EXPECT_EQ(with(Errc::ok), 600u);
  world->submit(counted, zero, owner);
  run(10'000);
  EXPECT_EQ(counted.error, Errc::no_such_queue);
}

TEST_F(FreeSpaceTest, AFullDiskRefusesWaitingSendsToo) {
  start(1);
  const QueueId queue = make_queue(zero);
  world->disk(0).set_capacity(world->disk(0).bytes_used());
  send_many(queue, 200, 2000);
  run(2'000'000);
  EXPECT_EQ(with(Errc::ok) + with(Errc::no_space), 200u);
  EXPECT_GT(with(Errc::no_space), 0u);
  EXPECT_TRUE(world->loop(0).log().stats().disk_full);

  world->disk(0).set_capacity(UINT64_MAX);
  run(1'100'000);  // the disk is tried again
  EXPECT_FALSE(world->loop(0).log().stats().disk_full);
  sends.clear();
  answers.clear();
  send_many(queue, 1, 2000);
  run(100'000);
  EXPECT_EQ(with(Errc::ok), 1u);
}

// Each message takes 120 bytes, and two blocks of 4 KiB until it is gone: for the records of its
// receive and its delete.
TEST_F(FreeSpaceTest, AFullDiskIsDrainedMessageByMessage) {
  start(1);
  const QueueId queue = make_queue(zero);
  const std::size_t sent = fill_with_small(queue);
  EXPECT_GT(sent, 5000u);
  std::size_t gone = 0;
  for (Delivery delivery; receive(queue, delivery); ++gone) {
    if (gone == sent / 3) {  // a startup finds a way to continue, too
      world->crash(Crash::power);
      ASSERT_EQ(world->start(0), Start::up);
    }
    ASSERT_TRUE(delete_message(queue, delivery)) << gone << " of " << sent;
  }
  EXPECT_EQ(gone, sent);
  send_many(queue, 1, 64);
  run(1'100'000);
  EXPECT_EQ(with(Errc::ok), 1u);
}

// Each segment keeps small messages of another queue, so many that they need all the space held
// back from senders. Without relocation no space would be freed.
TEST_F(FreeSpaceTest, AFullDiskAcceptsSendsAfterDeletesOfSparseSegments) {
  start(1);
  const QueueId queue = make_queue(zero), other = make_queue(zero, "other");
  std::size_t kept = 0;
  const std::size_t sent = fill_the_disk([&] {
    send_many(queue, 20, 1500);
    kept += 20;
    send_many(other, 20, 64);
  });
  EXPECT_GT(kept, 400u);
  for (Delivery delivery; receive(queue, delivery);)
    ASSERT_TRUE(delete_message(queue, delivery)) << sent;
  run(20'000'000);
  send_many(queue, 1, 64);
  run(2'000'000);
  EXPECT_EQ(with(Errc::ok), 1u);
}

TEST_F(FreeSpaceTest, AFullDiskIsAskedForMessagesThatNobodyDeletes) {
  start(1);
  const QueueId queue = make_queue(zero);
  const std::size_t sent = fill_with_small(queue);
  for (std::size_t times = 0; times < sent; ++times) {
    Delivery delivery;
    ASSERT_TRUE(receive(queue, delivery)) << times << " of " << sent;
    run(15'000);  // the record is written alone
  }
  world->crash(Crash::power);
  ASSERT_EQ(world->start(0), Start::up);
}

TEST_F(FreeSpaceTest, StateThatFillsTheMemoryRefusesSends) {
  Plan plan = calm_plan(1);
  plan.memory = 256 << 10;
  start(plan);
  const QueueId queue = make_queue(zero);
  const auto state = [&] { return world->loop(0).shard().memory().sum(); };
  for (int round = 0; round < 200 && with(Errc::no_memory) == 0; ++round) {
    send_many(queue, 2000, 1);
    run(20'000);
  }
  EXPECT_GT(with(Errc::no_memory), 0u);
  EXPECT_GT(with(Errc::ok), 10'000u) << "8.3 bytes each";
  EXPECT_GT(state(), plan.memory - plan.memory / 8);
  EXPECT_LT(state(), plan.memory);

  // Deleted messages free memory.
  purge(queue);
  send_many(queue, 1, 1);
  run(100'000);
  EXPECT_EQ(with(Errc::ok), 1u);
}

TEST_F(FreeSpaceTest, PurgedDelayedMessagesFreeMemory) {
  Plan plan = calm_plan(1);
  plan.memory = 384 << 10;
  start(plan);
  const QueueId queue = make_queue(zero);
  for (int round = 0; round < 200 && with(Errc::no_memory) == 0; ++round) {
    for (int i = 0; i < 500; ++i) {
      Send& sent = make_send(queue, "x");
      sent.entry.delay = seconds(900);
      world->submit(sent.request, zero, zero);
    }
    run(20'000);
  }
  EXPECT_GT(with(Errc::no_memory), 0u);
  EXPECT_GT(with(Errc::ok), 3'000u) << "80 bytes each";

  purge(queue);
  send_many(queue, 1000, 1);
  run(100'000);
  EXPECT_EQ(with(Errc::ok), 1000u);
  const ShardMemory memory = world->loop(0).shard().memory();
  EXPECT_LT(memory.sum() - memory.queues, plan.memory / 3);
}

// Bodies on the disk, also for a receive of another shard: no more bytes are copied than requested.
TEST_F(FreeSpaceTest, AReceiveCopiesNoMoreThanItAskedFor) {
  Plan plan = calm_plan(2);
  plan.log.memory_max = 6 * plan.log.extent_bytes;
  start(plan);
  const QueueId queue = make_queue(zero);
  for (int i = 0; i < 100; ++i) {
    send(queue, std::to_string(1000 + i) + std::string(1996, 'x'));
    run(20'000);
  }
  ASSERT_EQ(with(Errc::ok), 100u);
  for (const ShardId home : {zero, ShardId{1}}) {
    SCOPED_TRACE(raw(home));
    std::vector<Delivery> deliveries(100);
    Request request;
    request.op = Op::receive;
    request.queue = queue;
    request.receive = {
        .max = 100, .visibility = seconds(1), .wait = Duration{0}, .bytes_max = 9000};
    request.deliveries = deliveries;
    world->submit(request, home, zero);
    run(100'000);
    ASSERT_TRUE(is_answered(request));
    EXPECT_EQ(request.delivered, 100u);
    const std::size_t there = request.delivered - request.unfetched;
    EXPECT_GE(there, 5u) << "9000 bytes are in these";
    EXPECT_LE(there, 5u + ShardLoop::wants_max) << "and some are always on their way";
    EXPECT_LT(request.route.copied.size(), (5u + ShardLoop::wants_max) * 2200);
    for (std::size_t i = 0; i < there; ++i)
      EXPECT_EQ(deliveries[i].content.body.substr(0, 4), std::to_string(999 + deliveries[i].seq));
    answers.clear();
    world->advance(2'000'000);
    run(10'000);
  }
  EXPECT_GT(world->loop(0).log().stats().bodies_read, 0u);
}

}  // namespace
}  // namespace pawl::sim

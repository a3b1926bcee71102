// SPDX-License-Identifier: Apache-2.0
// Bugs that the simulator found, each as a minimal test.
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/sim/shard_loop_fixture.h"
#include "tests/sim/sim_disk.h"

namespace pawl::sim {
namespace {

// The broker crashed after the source's delete was on disk, and before the target knew of it.
TEST(FoundInTheShard, ATaskDoesNotCountItsMessagesAgainAfterRecovery) {
  const Instant now{1'700'000'000'000};
  Shard shard({.id = zero, .shards = 1}, {}, now);
  auto config = std::make_shared<QueueConfig>();
  config->id = QueueId{1};
  config->owner = zero;
  shard.restore(ConfigRecord{config, false});
  MoveTask task{
      .source = QueueId{1}, .number = 1, .moved = 1, .started = now, .destination = "0/q"};
  task.status = MoveTask::Status::completed;
  std::vector<LogPos> freed;
  shard.restore(TaskRecord{.task = task, .deleted = {1}}, freed);
  shard.finish_recovery(now, now, freed);
  Effects effects;
  Transfer& resumed = shard.resume_transfer(
      {
          .from = {zero, QueueId{1}, 1},
            .task = 1
  },
      zero);
  shard.apply(resumed.request, now, effects);
  Request list;
  list.op = Op::list_moves;
  list.queue = QueueId{1};
  shard.apply(list, now, effects);
  ASSERT_EQ(list.move.tasks.size(), 1u);
  EXPECT_EQ(list.move.tasks.front().moved, 1u);
}

TEST_F(ShardLoopTest, AnAttemptThatIsRepeatedWithoutATimeoutLeavesItsMessagesVisibleAtOnce) {
  start(1);
  QueueSpec spec{.account = "0", .name = "q.fifo", .changes = {}, .tags = {}};
  spec.changes.push_back({Attribute::fifo_queue, 1, {}});
  Request create;
  create.op = Op::create_queue;
  create.spec = &spec;
  world->submit(create, zero, zero);
  run(10'000);
  std::vector<SendEntry> entries(1);
  entries[0].content = {.body = "b", .group = "g", .dedup_id = "d"};
  Request send, first, again, count;
  send.op = Op::send;
  send.sends = entries;
  send.queue = first.queue = again.queue = count.queue = create.config->id;
  world->submit(send, zero, zero);
  run(10'000);
  std::vector<Delivery> deliveries(2);
  first.op = again.op = Op::receive;
  first.receive.attempt = again.receive.attempt = "a";
  first.deliveries = std::span(deliveries).first(1);
  again.deliveries = std::span(deliveries).last(1);
  again.receive.visibility = seconds(0);
  count.op = Op::count;
  world->submit(first, zero, zero);
  run(10'000);
  world->submit(again, zero, zero);
  world->submit(count, zero, zero);  // in the same turn
  run(10'000);
  ASSERT_TRUE(is_answered(first) && is_answered(again) && is_answered(count));
  ASSERT_EQ(first.delivered, 1u);
  ASSERT_EQ(again.delivered, 1u);
  EXPECT_EQ(deliveries[0].handle, deliveries[1].handle);
  EXPECT_EQ(count.counts.visible, 1u);
  EXPECT_EQ(count.counts.in_flight, 0u);
}

struct NoRecords final : RecoverySink {
  void config(const ConfigRecord&) override {}
  void row(const RowRecord&) override {}
  void head(const HeadRecord&) override {}
  void checkpoint(const CheckpointRecord&) override {}
  void send(const SendRecord&, std::vector<LogPos>&) override {}
  void receive(const ReceiveRecord&) override {}
  void delete_message(const DeleteRecord&, std::vector<LogPos>&) override {}
  void purge(const PurgeRecord&, std::vector<LogPos>&) override {}
  void task(const TaskRecord&, std::vector<LogPos>&) override {}
  void forget_transfer(const ForgetTransferRecord&) override {}
  void number(const NumberRecord&) override {}
  void replay(const ReplayRecord&) override {}
};

std::unique_ptr<Log> try_open_log(SimDisk& disk, std::string& complaint) {
  LogOptions options = calm_plan(1).log;
  options.small_segments = false;
  options.fill_every = Duration{};
  NoRecords sink;
  RecoveryReport report;
  auto log = open_log(disk, options, sink, report, complaint);
  return log ? std::move(*log) : nullptr;
}

std::unique_ptr<Log> open_log(SimDisk& disk) {
  std::string complaint;
  std::unique_ptr<Log> log = try_open_log(disk, complaint);
  EXPECT_NE(log, nullptr) << complaint;
  return log;
}

TEST(FoundInTheLog, ASegmentIsFilledAgainWhenFillingItHadFailed) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    SimDisk disk({.seed = seed});
    const Instant now{1'700'000'000'000};
    const auto pump = [&](Log& log) {
      for (int i = 0; i < 50; ++i) {
        log.pump(now, 1, true);
        disk.settle();
      }
    };
    auto log = open_log(disk);
    Content content;
    const std::string body(9000, 'x');
    content.body = body;
    for (Seq seq = 1; seq <= 5; ++seq) {
      Effects effects;
      effects.sends.push_back({QueueId{7}, seq, now, now, &content});
      log->append(effects, now);
      log->flush_all();
      if (seq < 5) pump(*log);
    }
    log->pump(now, 1, true);
    disk.settle();
    disk.fail_next_write(EIO);  // the write that fills the next segment
    pump(*log);                 // the file may have its full size nevertheless
    ASSERT_TRUE(log->close_clean());
    log.reset();
    log = open_log(disk);
    pump(*log);
    ASSERT_GT(log->stats().spare_segments, 0u);
    log.reset();
    disk.crash(Crash::power);
    ASSERT_NE(open_log(disk), nullptr);
  }
}

// The first startup dies before the names of the manifests are durable, the second at a flush of
// the first segment.
TEST(FoundInTheLog, WhatADyingFirstStartNamedIsMadeDurable) {
  std::uint64_t died_twice = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE(seed);
    SimDisk disk({.seed = seed});
    std::string complaint;
    disk.cut_power_after(2 + seed % 8);
    if (try_open_log(disk, complaint) != nullptr) continue;
    disk.crash(Crash::process);
    disk.fail(IoKind::sync, EIO, seed / 8 % 6);
    died_twice += try_open_log(disk, complaint) == nullptr ? 1 : 0;
    disk.crash(Crash::power);
    disk.heal();
    ASSERT_NE(open_log(disk), nullptr);
  }
  EXPECT_GT(died_twice, 500u);
}

}  // namespace
}  // namespace pawl::sim

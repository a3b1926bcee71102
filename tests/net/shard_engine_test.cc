// SPDX-License-Identifier: Apache-2.0
// The startup of shards whose logs belong together, and of shards whose logs do not.
#include "net/engine/shard_engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "net/engine/shard_recovery.h"
#include "tests/core/secret.h"
#include "tests/wal/memory_disk.h"

namespace pawl {
namespace {

constexpr ShardId zero{0}, one{1};

// The disks of a server with two shards.
using Disks = std::array<std::unique_ptr<MemoryDisk>, 2>;

Disks new_disks() { return {std::make_unique<MemoryDisk>(), std::make_unique<MemoryDisk>()}; }

// Two shards over their disks. Its destruction simulates a crash of the process.
class Engines {
 public:
  explicit Engines(Disks& disks, std::uint32_t queue_ids_from = 0) : disks_(disks) {
    for (std::uint8_t i = 0; i < 2; ++i) {
      engines_[i] = std::make_unique<ShardEngine>(
          ShardEngineOptions{
              .identity = {ShardId{i}, 2, test::test_secret(), 1, test::test_receipt_key(), {}},
              .limits = {},
              .log = {.stream = std::uint64_t{77} + i,
                           .segment_bytes = 64 << 10,
                           .extent_bytes = 16 << 10,
                           .memory_max = 4 << 20,
                           .spare_segments = 1},
              .queue_ids_from = i == 0 ? queue_ids_from : 0,
      },
          now_);
    }
  }
  // Recovers both shards. Returns the complaint of the shard that refuses its log, or "".
  std::string recover() {
    std::string complaint;
    for (std::size_t i = 0; i < 2; ++i) {
      ShardRecovery recovery(engines_[i]->shard());
      const auto opened = engines_[i]->open(*disks_[i], recovery, complaint);
      CHECK(opened, "{}", complaint);
    }
    share_directory(both());
    for (const auto& engine : engines_)
      if (!engine->adopt(now_, complaint)) return complaint;
    return complaint;
  }
  void start() {
    ASSERT_EQ(recover(), "");
    share_transfers(both());
    for (std::size_t i = 0; i < 2; ++i) engines_[i]->begin(ports_[i], owners_[i]);
  }
  bool ask(Request& request, ShardId target) {
    engines_[0]->loop().submit(request, target);
    for (int turns = 0; turns < 1000 && !owners_[0].answers.contains(&request); ++turns) {
      now_ = now_ + milliseconds(1);
      for (const auto& engine : engines_)
        engine->loop().turn(now_, static_cast<std::uint64_t>(now_.ms) * 1000);
    }
    return owners_[0].answers.erase(&request) == 1 && request.error == Errc::ok;
  }
  QueueId create(const std::string& name) {
    const QueueSpec spec{.account = "0", .name = name, .changes = {}, .tags = {}};
    Request request{.op = Op::create_queue};
    request.spec = &spec;
    EXPECT_TRUE(ask(request, control_shard));
    return request.config ? request.config->id : QueueId::none;
  }
  void send(QueueId queue, ShardId owner) {
    SendEntry entry;
    entry.content.body = "body";
    Request request{.op = Op::send, .queue = queue};
    request.sends = {&entry, 1};
    EXPECT_TRUE(ask(request, owner));
  }
  std::uint64_t visible(QueueId queue, ShardId owner) {
    Request request{.op = Op::count, .queue = queue};
    EXPECT_TRUE(ask(request, owner));
    return request.counts.visible;
  }
  void turn(std::size_t shard) {
    now_ = now_ + milliseconds(1);
    engines_[shard]->loop().turn(now_, static_cast<std::uint64_t>(now_.ms) * 1000);
  }
  MeshPort& port(std::size_t shard) { return ports_[shard]; }
  const std::vector<std::uint64_t>& connections(std::size_t shard) const {
    return owners_[shard].connections;
  }
  std::array<ShardEngine*, 2> both() const { return {engines_[0].get(), engines_[1].get()}; }
  Instant now() const { return now_; }

 private:
  struct Owner final : RequestOwner {
    std::set<const Request*> answers;
    void on_response(Request& request) override { answers.insert(&request); }
    std::vector<std::uint64_t> connections;
    void connection(std::uint64_t number) override { connections.push_back(number); }
  };

  Instant now_{1'700'000'000'000};
  Disks& disks_;
  Mesh mesh_{2};
  std::array<MeshPort, 2> ports_{MeshPort(mesh_, zero), MeshPort(mesh_, one)};
  std::array<Owner, 2> owners_;
  std::array<std::unique_ptr<ShardEngine>, 2> engines_;
};

// The name, extended until its queue belongs to that shard.
std::string name_on(ShardId owner, std::string name) {
  while (shard_of("0", name, 2) != owner) name += "x";
  return name;
}

TEST(ShardEngine, RecoversTheQueuesAndMessagesOfEveryShard) {
  Disks disks = new_disks();
  std::array<QueueId, 2> queues{};
  {
    Engines first(disks);
    first.start();
    for (const ShardEngine* engine : first.both()) EXPECT_TRUE(engine->report().created);
    for (const ShardId shard : {zero, one}) {
      queues[raw(shard)] = first.create(name_on(shard, "q"));
      for (int i = 0; i < 3; ++i) first.send(queues[raw(shard)], shard);
    }
  }
  Engines again(disks);
  again.start();
  for (const ShardEngine* engine : again.both()) {
    EXPECT_FALSE(engine->report().created);
    EXPECT_NE(engine->shard().directory().find(queues[0]), nullptr);
    EXPECT_NE(engine->shard().directory().find(queues[1]), nullptr) << "shared by the first shard";
  }
  for (const ShardId shard : {zero, one}) EXPECT_EQ(again.visible(queues[raw(shard)], shard), 3u);
}

TEST(ShardEngine, StartsNoClockBeforeTheNewestFrameOfAnyLog) {
  Disks disks = new_disks();
  Instant sent;
  {
    Engines first(disks);
    first.start();
    const QueueId queue = first.create(name_on(one, "q"));
    first.send(queue, one);
    sent = first.now();
  }
  Engines again(disks);
  ASSERT_EQ(again.recover(), "");
  const auto engines = again.both();
  const Instant newest = newest_frame(engines);
  EXPECT_EQ(newest, std::max(engines[0]->report().newest, engines[1]->report().newest));
  EXPECT_GT(engines[1]->report().newest, engines[0]->report().newest);
  EXPECT_LE(newest, sent);
  EXPECT_GT(newest + milliseconds(1000), sent);
}

// The control log gives out queue ids: a log with later ids is not from the same time.
TEST(ShardEngine, RefusesMessagesOfAQueueThatTheControlLogNeverMade) {
  Disks disks = new_disks();
  {
    Engines first(disks);
    first.start();
    first.send(first.create(name_on(one, "q")), one);
  }
  disks[0] = std::make_unique<MemoryDisk>();
  Engines mixed(disks);
  const std::string complaint = mixed.recover();
  EXPECT_TRUE(
      complaint.contains("it has messages of queue 1, and the control log (s00) gave out "
                         "ids below 1 only"))
      << complaint;
}

TEST(ShardEngine, RefusesMessagesOfAQueueThatBelongsToAnotherShard) {
  Disks disks = new_disks(), others = new_disks();
  {
    Engines first(disks), second(others);
    first.start();
    second.start();
    first.send(first.create(name_on(one, "q")), one);
    second.send(second.create(name_on(zero, "q")), zero);
  }
  disks[0] = std::move(others[0]);
  Engines mixed(disks);
  const std::string complaint = mixed.recover();
  EXPECT_TRUE(complaint.contains("it has messages of queue 1, which belongs to shard 0"))
      << complaint;
}

// Its ids may be in the logs of the other shards.
TEST(ShardEngine, GivesOutNoQueueIdOfALostControlLog) {
  Disks disks = new_disks();
  QueueId before{};
  {
    Engines first(disks);
    first.start();
    before = first.create(name_on(one, "q"));
    first.send(before, one);
  }
  disks[0] = std::make_unique<MemoryDisk>();
  Engines repaired(disks, 100);
  repaired.start();
  EXPECT_FALSE(repaired.both()[1]->shard().has_queue(before)) << "its name is lost";
  EXPECT_GE(raw(repaired.create("new")), 100u);
}

// A binary connection whose HELLO names a queue of another shard is passed on behind the turn.
TEST(ShardEngine, AConnectionThatIsPassedOnBehindATurnDoesNotWaitForTheNextOne) {
  Disks disks = new_disks();
  Engines engines(disks);
  engines.start();
  engines.turn(0);
  engines.turn(1);
  ASSERT_TRUE(engines.port(1).try_sleep());
  ShardLoop& loop = engines.both()[0]->loop();
  loop.take_wakes();
  loop.send_connection(one, 42);
  EXPECT_EQ(loop.take_wakes(), 0b10u) << "the other shard sleeps on";
  engines.port(1).awake();
  engines.turn(1);
  EXPECT_EQ(engines.connections(1), std::vector<std::uint64_t>{42});
}

}  // namespace
}  // namespace pawl

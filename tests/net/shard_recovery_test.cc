// SPDX-License-Identifier: Apache-2.0
#include "net/engine/shard_recovery.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/core/secret.h"

namespace pawl {
namespace {

constexpr QueueId queue{5};

class ShardRecoveryTest : public testing::Test {
 protected:
  ShardRecoveryTest() {
    auto made = std::make_shared<QueueConfig>();
    made->id = queue;
    made->account = "0";
    made->name = "q";
    recovery_.config({made, false});
  }
  // Recovers a message at the position of its number.
  void send(Seq seq) {
    const Content content{.body = "body"};
    recovery_.send({.queue = queue,
                    .seq = seq,
                    .sent = Instant{1000},
                    .deliver_at = Instant{1000},
                    .content = &content,
                    .position = seq},
                   freed_);
  }
  QueueCounts count() {
    Request request{.op = Op::count, .queue = queue};
    Effects effects;
    shard_.apply(request, Instant{2000}, effects);
    EXPECT_EQ(request.error, Errc::ok);
    return request.counts;
  }

  Shard shard_{
      {.id = {}, .shards = 1, .secret = test::test_secret()},
      {},
      Instant{1000}
  };
  RecoveryProgress progress_;
  ShardRecovery recovery_{shard_, &progress_};
  std::vector<LogPos> freed_;
};

TEST_F(ShardRecoveryTest, AppliesTheLifeOfAMessage) {
  EXPECT_NE(shard_.directory().find(queue), nullptr);
  for (Seq seq = 1; seq <= 4; ++seq) send(seq);
  EXPECT_EQ(shard_.messages(), 4u);
  recovery_.delete_message({queue, 2}, freed_);
  EXPECT_EQ(freed_, std::vector<LogPos>{2});
  recovery_.purge({queue, 2, Instant{1500}}, freed_);
  EXPECT_EQ(freed_, (std::vector<LogPos>{2, 1}));
  recovery_.receive({queue, 3, 1, 1, Instant{100'000}, Instant{1100}, Instant{1100}});
  freed_.clear();
  shard_.finish_recovery(Instant{2000}, Instant{2000}, freed_);
  EXPECT_TRUE(freed_.empty());
  shard_.committed(0, Instant{2000});
  EXPECT_EQ(count().visible, 1u);
  EXPECT_EQ(count().in_flight, 1u);
}

TEST_F(ShardRecoveryTest, AppliesTheDeletionOfAQueue) {
  send(1);
  recovery_.config({*shard_.directory().find(queue), true});
  EXPECT_EQ(shard_.directory().find(queue), nullptr);
  shard_.finish_recovery(Instant{2000}, Instant{2000}, freed_);
  EXPECT_EQ(freed_, std::vector<LogPos>{1});
}

TEST_F(ShardRecoveryTest, AppliesTheNextQueueIdOfTheControlLog) {
  recovery_.head({QueueId::none, 1000});
  EXPECT_EQ(shard_.queue_ids_end(), 1000u);
}

TEST_F(ShardRecoveryTest, ReportsItsProgressToOtherThreads) {
  recovery_.progress(100, 400);
  EXPECT_EQ(progress_.read, 100u);
  EXPECT_EQ(progress_.total, 400u);
  ShardRecovery silent(shard_);
  silent.progress(200, 400);
  EXPECT_EQ(progress_.read, 100u);
}

}  // namespace
}  // namespace pawl

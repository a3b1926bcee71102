// SPDX-License-Identifier: Apache-2.0
#include "wal/repair/known.h"

#include <gtest/gtest.h>

#include <memory>

namespace pawl {
namespace {

constexpr QueueId queue{7};

class KnownState : public testing::Test {
 protected:
  void send(Seq seq, bool relocated = false) {
    StoredMessage message;
    message.queue = queue;
    message.seq = seq;
    message.relocated = relocated;
    known.send(message, 8);
  }
  std::set<Seq> messages() const {
    std::set<Seq> seqs;
    for (const auto& [seq, position] : known.find(queue)->messages) seqs.insert(seq);
    return seqs;
  }
  std::set<Seq> missing() const { return known.find(queue)->missing; }
  static ConfigRecord config(QueueId id, bool gone = false) {
    auto config = std::make_shared<QueueConfig>();
    config->id = id;
    return {std::move(config), gone};
  }

  Known known;
};

TEST_F(KnownState, MessagesHavePositionsUntilTheyAreDeleted) {
  known.at(1000);
  send(1);
  send(2);
  EXPECT_EQ(known.find(queue)->messages.at(2), 1008u);
  known.delete_message({queue, 1});
  EXPECT_EQ(messages(), std::set<Seq>{2});
  known.at(2000);
  send(2, true);
  EXPECT_EQ(known.find(queue)->messages.at(2), 2008u) << "it was relocated";
  known.purge({queue, 3, {}});
  EXPECT_TRUE(messages().empty());
  EXPECT_EQ(known.find(queue)->next, 3u);
  EXPECT_EQ(known.find(QueueId{8}), nullptr);
}

TEST_F(KnownState, SkippedNumbersAreMissingOnlyAfterDamage) {
  send(1);
  send(3);
  EXPECT_TRUE(missing().empty());
  known.damaged();
  send(6);
  EXPECT_EQ(missing(), (std::set<Seq>{4, 5}));
  known.delete_message({queue, 4});
  EXPECT_EQ(missing(), std::set<Seq>{5}) << "a later record deletes the message";
  known.purge({queue, 6, {}});
  EXPECT_TRUE(missing().empty());
}

TEST_F(KnownState, TheFirstNumbersAreMissingOnlyInALogFromItsBeginning) {
  known.damaged();
  send(3);
  EXPECT_TRUE(missing().empty());
  Known first;
  first.from_the_first();
  first.damaged();
  first.receive({.queue = queue, .seq = 2});
  EXPECT_EQ(first.find(queue)->missing, (std::set<Seq>{1, 2}));
}

TEST_F(KnownState, ReservedNumbersAreNotMissing) {
  send(1);
  known.damaged();
  known.head({queue, 1000, true});
  send(1000);
  EXPECT_TRUE(missing().empty()) << "a startup continued after the reservation";
  EXPECT_EQ(known.find(queue)->next, 1001u);
  Known later;
  later.go_on_from(known.given());
  later.damaged();
  later.receive({.queue = queue, .seq = 1001});
  EXPECT_EQ(later.find(queue)->missing, std::set<Seq>{1001});
}

TEST_F(KnownState, ACheckpointListsMessagesAndItsSendsDoNotCount) {
  known.begin(Known::Part::checkpoint);
  known.checkpoint(IndexEntriesRecord{
      .queue = queue, .entries = {{5, 640}, {6, 720}}
  });
  send(7);
  known.delete_message({queue, 5});
  EXPECT_EQ(messages(), (std::set<Seq>{5, 6}));
  known.begin(Known::Part::log);
  send(5, true);
  send(4, true);
  EXPECT_EQ(messages(), (std::set<Seq>{5, 6})) << "4 is relocated, but the checkpoint lacks it";
}

TEST_F(KnownState, QueuesLiveUntilTheirDeletionAndIdsAreNotUsedAgain) {
  known.config(config(queue));
  send(1);
  EXPECT_TRUE(known.live(queue));
  known.row({queue, 3, "row"});
  EXPECT_EQ(known.configs().at(queue).config->rows.size(), 1u);
  known.config(config(queue, true));
  EXPECT_FALSE(known.live(queue));
  EXPECT_EQ(known.find(queue), nullptr);
  EXPECT_EQ(known.queue_ids_end(), 8u);
  known.head({QueueId::none, 20});
  EXPECT_EQ(known.queue_ids_end(), 20u);
}

TEST_F(KnownState, ATaskDeletesItsMessages) {
  send(1);
  send(2);
  TaskRecord record;
  record.task.source = queue;
  record.deleted = {1};
  known.task(record);
  EXPECT_EQ(messages(), std::set<Seq>{2});
}

}  // namespace
}  // namespace pawl

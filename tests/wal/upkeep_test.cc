// SPDX-License-Identifier: Apache-2.0
// Each part of a log is visited when it has work, whatever else goes on. In the sanitizer trees
// Upkeep also asks all parts before each run, and ends the test if one was forgotten.
#include "wal/upkeep.h"

#include <gtest/gtest.h>

#include "tests/wal/reuse_fixture.h"

namespace pawl {
namespace {

class UpkeepTest : public Reuse {
 protected:
  // One send alone: a turn with it, its write, and the turn that makes it durable.
  void lone_send() {
    append_send(++seq, "lone");
    pump();
    disk->finish_all();
    pump(true);
    ASSERT_FALSE(log->pending());
  }
};

TEST_F(UpkeepTest, ACheckpointIsDueAfterASegment) {
  while (appended + 12'000 < options.segment_bytes) {
    EXPECT_FALSE(log->wants_checkpoint()) << "at " << appended;
    fill_one();
  }
  fill_to(1);
  EXPECT_TRUE(log->wants_checkpoint());
  const std::uint64_t before = log->stats().manifests;
  checkpoint();
  EXPECT_FALSE(log->wants_checkpoint());
  settle();
  EXPECT_GT(log->stats().manifests, before) << "the manifest names it";
}

TEST_F(UpkeepTest, SegmentsAreMadeAheadOfALogThatGrowsSendBySend) {
  while (appended / options.segment_bytes < 6) {
    lone_send();
    EXPECT_GE(log->stats().spare_segments, 1u) << "at " << appended;
    disk->finish_all();
  }
}

TEST_F(UpkeepTest, ASegmentWithoutMessagesIsReused) {
  fill_to(2);
  checkpoint();
  settle();
  fill_to(3);
  const std::uint64_t used = log->stats().used_bytes;
  for (Seq s = 1; s <= 6; ++s) delete_message(s);
  settle();
  EXPECT_LT(log->stats().used_bytes, used);
}

TEST_F(UpkeepTest, ALogAtRestIsVouchedForAfterEachSend) {
  for (int i = 0; i < 3; ++i) {
    lone_send();
    const std::uint64_t before = log->stats().manifests;
    now = now + options.vouch_after;
    settle();
    EXPECT_EQ(log->stats().manifests, before + 1);
  }
}

TEST_F(UpkeepTest, ReleasedMessagesAreLookedAfterASecondLater) {
  lone_send();
  now = now + options.vouch_after;
  settle();
  EXPECT_EQ(log->next_due(), never);
  delete_message(seq);
  settle();
  now = now + options.vouch_after;
  settle();
  EXPECT_LE(log->next_due(), now + seconds(1));
  now = now + seconds(1);
  settle();
  EXPECT_EQ(log->next_due(), never);
}

TEST_F(UpkeepTest, AWantedBodyArrivesBetweenLoneSends) {
  const LogPos position = fill_one();
  log->set_memory_max(0);
  fill_to(2);
  ASSERT_FALSE(log->in_memory(position));
  log->want({.position = position});
  lone_send();
  lone_send();
  WantedBody wanted;
  std::span<const std::byte> record;
  ASSERT_TRUE(log->next_body(wanted, record));
  EXPECT_EQ(wanted.position, position);
  log->next_body(wanted, record);  // frees the body
}

TEST_F(UpkeepTest, AReplayReaderReadsBetweenLoneSends) {
  fill_to(1);
  log->send_reader().begin(0, appended, test_queue);
  lone_send();
  lone_send();
  FoundSend sent;
  EXPECT_TRUE(log->send_reader().next(sent));
}

TEST_F(UpkeepTest, AWastefulSegmentIsEmptied) {
  log->set_dead_bytes_max(0);
  fill_to(6);
  for (Seq s = 1; s < seq; ++s)
    if (s % 4 != 0) delete_message(s);
  checkpoint();
  settle();
  now = now + seconds(1);
  settle();
  FoundSend sent;
  EXPECT_TRUE(log->relocation_due());
  EXPECT_TRUE(log->next_relocatable(sent));
}

}  // namespace
}  // namespace pawl

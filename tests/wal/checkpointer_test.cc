// SPDX-License-Identifier: Apache-2.0
#include "wal/checkpointer.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/wal/reuse_fixture.h"

namespace pawl {
namespace {

TEST_F(Reuse, ACheckpointIsWantedOnceForEverySegmentsWorth) {
  EXPECT_FALSE(log->wants_checkpoint());
  fill_to(1);
  EXPECT_TRUE(log->wants_checkpoint());
  checkpoint();
  EXPECT_FALSE(log->wants_checkpoint()) << "one is under way";
  settle();
  EXPECT_FALSE(log->wants_checkpoint());
  fill_to(3);
  EXPECT_TRUE(log->wants_checkpoint());
}

TEST_F(Reuse, ASegmentIsReusedWhenEmptyAndCheckpointAndDeletesAreDurableAndTheManifestSaysSo) {
  const auto positions = fill_to(1);
  disk->trace = true;
  delete_all(seq);
  for (std::size_t i = 0; i + 1 < positions.size(); ++i) log->release(positions[i]);
  settle();
  EXPECT_FALSE(called("write MANIFEST")) << "no checkpoint yet";
  disk->calls.clear();
  disk->hold = true;
  checkpoint();
  pump();
  pump();
  EXPECT_FALSE(called("write MANIFEST")) << "the checkpoint is not durable";
  log->flush_all();
  for (int i = 0; i < 5 && !called("write MANIFEST"); ++i) {
    pump(true);
    if (!called("write MANIFEST")) disk->finish_all();
  }
  ASSERT_TRUE(called("write MANIFEST"));
  EXPECT_EQ(log->stats().segments, 2u) << "the manifest is not durable";
  disk->hold = false;
  settle();
  EXPECT_EQ(log->stats().segments, 1u);

  fill_to(3);
  ASSERT_TRUE(called("rename 000000000000.seg"));
  EXPECT_LT(call("write MANIFEST"), call("rename 000000000000.seg"));
  open();
  EXPECT_FALSE(disk->files.contains("000000000000.seg"));
  ASSERT_FALSE(found.configs.empty());
  EXPECT_EQ(found.configs[0].config->name, "q");
  EXPECT_EQ(found.heads.at(7), 1000u);
  for (const auto& [key, message] : found.messages)
    EXPECT_EQ(message.body, body_of(key.second, 9000));
  EXPECT_TRUE(found.messages.contains({7, seq}));
}

TEST_F(Reuse, OneLiveMessageKeepsItsSegmentAndNoneBehindIt) {
  const auto positions = fill_to(3);
  for (Seq s = 2; s < seq; ++s) append_delete(s);
  checkpoint();
  for (std::size_t i = 1; i + 1 < positions.size(); ++i) log->release(positions[i]);
  settle();
  EXPECT_EQ(log->stats().segments, 2u) << "its own and the last";
  open();
  ASSERT_TRUE(found.messages.contains({7, 1}));
  EXPECT_EQ(found.messages.at({7, 1}).body, body_of(1, 9000));
  append_delete(1);
  log->release(positions[0]);
  settle();
  EXPECT_EQ(log->stats().segments, 1u);
}

TEST_F(Reuse, ADeleteThatIsNotDurableKeepsTheSegment) {
  const auto positions = fill_to(1);
  checkpoint();
  settle();
  disk->hold = true;
  delete_all(seq);
  for (std::size_t i = 0; i + 1 < positions.size(); ++i) log->release(positions[i]);
  for (int i = 0; i < 5; ++i) pump(true);
  EXPECT_EQ(log->stats().segments, 2u);
  for (int i = 0; i < 5; ++i) {
    disk->finish_all();
    pump(true);
  }
  EXPECT_EQ(log->stats().segments, 1u);
  disk->hold = false;
}

TEST_F(Reuse, ASegmentThatHoldsMessagesAndIsMissingIsDamage) {
  fill_to(2);
  checkpoint();
  settle();
  log.reset();
  disk->files.erase("000000000000.seg");
  EXPECT_EQ(try_open(), Errc::corrupt);
  EXPECT_TRUE(complaint.contains("000000000000.seg holds messages and is missing")) << complaint;
}

TEST_F(Reuse, TheLogTurnsRoundForEverInAFewFiles) {
  std::vector<LogPos> last;
  for (std::uint64_t segment = 1; segment <= 40; ++segment) {
    const auto positions = fill_to(segment);
    delete_all(seq + 1);
    for (const LogPos position : positions) log->release(position);
    if (log->wants_checkpoint()) checkpoint();
    settle();
  }
  EXPECT_LE(log->stats().segments, 3u);
  EXPECT_LE(disk->files.size(), 3u + 2 + 2 + 2);
  open();
  EXPECT_LE(found.messages.size(), 1u);
  EXPECT_LE(report.frames, 40u);
}

TEST_F(Reuse, WithLittleFreeSpaceACheckpointIsDueEarlierAndMustNotLag) {
  disk->capacity = 0;
  for (const auto& [name, bytes] : disk->files) disk->capacity += bytes->size();
  while (!log->wants_checkpoint()) fill_one();
  EXPECT_LT(appended / options.segment_bytes, 3u);
  fill_to(2);
  log->begin_checkpoint();
  EXPECT_FALSE(log->checkpoint_lags()) << "no slice was appended";
  CheckpointSlice slice;
  slice.heads.push_back({test_queue, seq + 1});
  log->append(slice, now);
  EXPECT_FALSE(log->checkpoint_lags()) << "nothing else was appended since";
  fill_one();
  EXPECT_TRUE(log->checkpoint_lags());
  log->end_checkpoint();
}

using CheckpointerDeathTest = Reuse;

TEST_F(CheckpointerDeathTest, TheStepsOfACheckpointComeInTheirOrder) {
  CheckpointSlice slice;
  slice.heads.push_back({test_queue, 1});
  EXPECT_DEATH(log->append(slice, now), "begun");
  EXPECT_DEATH(log->end_checkpoint(), "allowed");
  log->begin_checkpoint();
  EXPECT_DEATH(log->begin_checkpoint(), "allowed");
  EXPECT_DEATH(log->end_checkpoint(), "allowed");
}

}  // namespace
}  // namespace pawl

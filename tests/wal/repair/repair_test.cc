// SPDX-License-Identifier: Apache-2.0
#include "wal/repair/repair.h"

#include "tests/wal/repair/repair_fixture.h"
#include "wal/repair/walk.h"

namespace pawl {
namespace {

class Repair : public RepairTest {
 protected:
  void expect_lost(Seq n, const std::set<Seq>& lost, std::size_t bytes = 40) {
    open();
    for (Seq seq = 1; seq <= n; ++seq) {
      const bool expected = !lost.contains(seq);
      ASSERT_EQ(found.messages.contains({7, seq}), expected) << seq;
      if (!expected) continue;
      EXPECT_EQ((found.messages[{7, seq}].body), body_of(seq, bytes));
    }
    log.reset();
    const auto walked = walk_log(*disk);
    ASSERT_TRUE(walked);
    EXPECT_TRUE(walked->damage.empty() && walked->missed.empty());
  }
};

TEST_F(Repair, NothingIsPlannedForASoundLog) {
  fill(3);
  EXPECT_FALSE(plan().needed());
}

TEST_F(Repair, PlanningChangesNothing) {
  fill(3);
  log.reset();
  damage(first_segment, frame(1) + 100);
  const Files before = keep();
  EXPECT_TRUE(plan().needed());
  EXPECT_EQ(keep(), before);
}

TEST_F(Repair, AnyDamagedFrameCostsOnlyItsMessage) {
  fill(4);
  log.reset();
  const Files before = keep();
  for (const Seq seq : {1, 2, 3}) {
    put_back(before);
    damage(first_segment, frame(seq - 1) + 100);
    ASSERT_EQ(try_open(), Errc::corrupt);
    repair();
    expect_lost(4, {seq});
  }
}

TEST_F(Repair, ARepairedLogNeedsNoRepair) {
  fill(4);
  damage(first_segment, frame(1) + 100);
  repair();
  EXPECT_FALSE(plan().needed());
}

TEST_F(Repair, BothManifestsAreRebuilt) {
  options.extent_bytes = options.segment_bytes;  // the size that a repair assumes
  const Seq n = fill_segments();
  log.reset();
  const Files before = keep();
  for (const bool erased : {false, true}) {
    put_back(before);
    for (const std::string_view name : manifest_names) {
      if (erased)
        disk->files.erase(std::string(name));
      else
        damage(std::string(name), 50);
    }
    const RepairPlan planned = plan();
    EXPECT_TRUE(says(planned, "MANIFEST.a and MANIFEST.b: made anew"));
    ASSERT_TRUE(apply_repair(planned, *disk, "DIR"));
    expect_lost(n, {}, 5000);
  }
}

TEST_F(Repair, AShortSegmentGetsItsSizeBack) {
  fill(4);
  log.reset();
  disk->content(first_segment).resize(frame(2));
  const RepairPlan planned = plan();
  EXPECT_TRUE(says(planned, "000000000000.seg is not full size, and gets it back"));
  ASSERT_TRUE(apply_repair(planned, *disk, "DIR"));
  expect_lost(4, {3, 4});
}

TEST_F(Repair, ALogThatIsAnotherOneIsRefused) {
  fill(1);
  log.reset();
  RepairRequest other = request();
  other.stream = 77;
  const auto plan = plan_repair(other);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->refused.find("its files are those of another log"), 0u);
  EXPECT_FALSE(plan->needed());
}

TEST_F(Repair, ALogThatWasMadeAndHasNoFilesIsLost) {
  RepairRequest made = request();
  made.membership = {.made = true, .starts = 3};
  const auto lost = plan_repair(made);
  ASSERT_TRUE(lost);
  EXPECT_TRUE(lost->log_lost && lost->records_lost);
  const auto forming = plan_repair(request());
  ASSERT_TRUE(forming);
  EXPECT_FALSE(forming->needed());
}

TEST_F(Repair, SegmentsWithoutAWholeFrameOrManifestAreRefused) {
  disk->files[first_segment] =
      std::make_shared<std::vector<std::byte>>(options.segment_bytes, std::byte{0x55});
  const auto plan = plan_repair(request());
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->refused, "neither a manifest nor a frame of this log is whole");
}

}  // namespace
}  // namespace pawl

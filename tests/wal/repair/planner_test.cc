// SPDX-License-Identifier: Apache-2.0
#include "wal/repair/planner.h"

#include "tests/wal/repair/repair_fixture.h"
#include "wal/repair/frames.h"
#include "wal/repair/manifests.h"

namespace pawl {
namespace {

class Planner : public RepairTest {
 protected:
  // Runs a planner with the manifest of the disk.
  RepairPlan run() {
    RepairPlan plan(content());
    const auto frames = whole_frames(plan.content);
    const auto manifests = read_manifests(*disk);
    EXPECT_TRUE(frames && manifests && manifests->newest);
    const RepairRequest request = this->request();
    EXPECT_TRUE(RepairPlanner(request, plan, *manifests->newest, false, false).run(*frames));
    return plan;
  }
};

TEST_F(Planner, ChangesNothingInASoundLog) {
  fill(3);
  const RepairPlan plan = run();
  EXPECT_FALSE(plan.needed());
  EXPECT_TRUE(plan.said.empty());
  EXPECT_EQ(plan.lost, 0u);
}

TEST_F(Planner, FillsAGapAndAppendsTheDeleteOfTheLostMessage) {
  fill(4);
  damage(first_segment, frame(1) + 100);
  RepairPlan plan = run();
  EXPECT_GT(plan.lost, 0u);
  EXPECT_TRUE(plan.records_lost);
  EXPECT_TRUE(says(plan, "lost: 1 message of queue 7, by the numbers that are missing: 2"));
  EXPECT_EQ(plan.appended, frame(4));
  ASSERT_EQ(plan.content.changes().size(), 2u);
  EXPECT_TRUE(plan.content.changes().contains(frame(1)));
  // Every frame follows the one before, up to the appended one.
  const auto frames = whole_frames(plan.content);
  ASSERT_TRUE(frames);
  ASSERT_EQ(frames->size(), 5u);
  for (std::size_t i = 1; i < frames->size(); ++i)
    EXPECT_EQ((*frames)[i].lsn - (*frames)[i].prev, (*frames)[i - 1].lsn);
  EXPECT_GT(frames->back().epoch, frames->front().epoch);
  EXPECT_EQ(plan.manifest->epoch, frames->back().epoch);
}

TEST_F(Planner, LeavesATornEndAlone) {
  fill_with_torn_end();
  EXPECT_FALSE(run().needed());
}

TEST_F(Planner, RefusesASegmentUnderTheNameOfAnother) {
  fill_segments();
  log.reset();
  const Manifest manifest = *read_manifests(*disk)->newest;
  disk->content(segment_name(manifest.first)) = disk->content(segment_name(0));
  const RepairPlan plan = run();
  EXPECT_EQ(plan.refused, segment_name(manifest.first) + " is " + segment_name(0) +
                              " by its header: give it its name back first");
}

TEST_F(Planner, AnUnreadableOlderMessageIsDeleted) {
  const Seq n = fill_segments();
  const LogPos position = alive.at(2);
  damage(first_segment, geometry().offset_of(position) + 200);
  const RepairPlan plan = run();
  EXPECT_TRUE(says(plan, "lost: 1 message of queue 7, damaged where it is: 2"));
  ASSERT_TRUE(apply_repair(plan, *disk, "DIR"));
  open();
  EXPECT_EQ(found.messages.size(), n - 1);
  EXPECT_FALSE(found.messages.contains({7, 2}));
}

TEST_F(Planner, AMissingSegmentIsMadeAnew) {
  fill_segments();
  log.reset();
  const Manifest manifest = *read_manifests(*disk)->newest;
  disk->files.erase(segment_name(manifest.first));
  const RepairPlan plan = run();
  EXPECT_TRUE(plan.content.made_whole().contains(manifest.first));
  EXPECT_TRUE(says(plan, segment_name(manifest.first) + " is missing, and is made anew"));
}

}  // namespace
}  // namespace pawl

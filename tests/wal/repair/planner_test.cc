// SPDX-License-Identifier: Apache-2.0
#include "wal/repair/planner.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

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

// The records of a topic are in the control log alone, whichever shard owns it.
TEST_F(Planner, DeletesTheQueuesOfALostLogAndLeavesItsTopics) {
  open();
  effects.clear();
  for (const auto& [id, account] : {std::pair(8u, "1"), std::pair(9u, "sns/1")}) {
    auto config = std::make_shared<QueueConfig>();
    config->id = QueueId{id};
    config->owner = ShardId{3};
    config->set_name(account, "news");
    effects.configs.push_back({config, false});
  }
  appended = log->append(effects, now);
  settle();
  log.reset();
  RepairRequest control = request();
  control.shard = control_shard;
  control.queues = std::nullopt;
  control.lost_logs = {ShardId{3}};
  const auto plan = plan_repair(control);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->refused, "");
  EXPECT_TRUE(says(*plan, "queue news (1) goes, with its messages: they were in s03"));
  EXPECT_EQ(plan->queues, std::set<QueueId>{QueueId{9}});
  ASSERT_TRUE(apply_repair(*plan, *disk, "DIR"));
  open();
  std::map<QueueId, ConfigRecord> latest;
  for (const ConfigRecord& record : found.configs) latest[record.config->id] = record;
  EXPECT_TRUE(latest.at(QueueId{8}).gone);
  EXPECT_FALSE(latest.at(QueueId{9}).gone);
  EXPECT_EQ(latest.at(QueueId{9}).config->kind, ConfigKind::topic);
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

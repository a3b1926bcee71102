// SPDX-License-Identifier: Apache-2.0
#include "wal/repair/plan.h"

#include "tests/wal/repair/repair_fixture.h"

namespace pawl {
namespace {

class PlanOfARepair : public RepairTest {
 protected:
  RepairPlan empty() { return RepairPlan(LogContent(*disk, geometry())); }
};

TEST_F(PlanOfARepair, IsNeededIfAnythingChanges) {
  EXPECT_FALSE(empty().needed());
  RepairPlan refused = empty();
  refused.refused = "a reason";
  EXPECT_FALSE(refused.needed());
  RepairPlan lost = empty();
  lost.log_lost = true;
  EXPECT_TRUE(lost.needed());
  RepairPlan manifest = empty();
  manifest.manifest.emplace();
  EXPECT_TRUE(manifest.needed());
  RepairPlan changed = empty();
  changed.content.put(block_bytes, {std::byte{1}});
  EXPECT_TRUE(changed.needed());
  RepairPlan whole = empty();
  whole.content.make_whole(3);
  EXPECT_TRUE(whole.needed());
}

}  // namespace
}  // namespace pawl

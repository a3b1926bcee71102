// SPDX-License-Identifier: Apache-2.0
#include "wal/repair/repair_copy.h"

#include "tests/wal/repair/repair_fixture.h"

namespace pawl {
namespace {

namespace fs = std::filesystem;

class Copy : public RepairTest {
 protected:
  Copy() {
    data.write("PAWL", "identity");
    data.write("s01/MANIFEST.a", "manifest a");
    data.write("s01/000000000003.seg", "segment 3");
    data.write("s01/000000000004.seg", "segment 4");
  }
  // A plan that changes segment 3, makes segment 9, and writes both manifests.
  RepairPlan changes() {
    RepairPlan plan(LogContent(*disk, geometry()));
    plan.content.put(geometry().segment_base(3) + block_bytes, {std::byte{1}});
    plan.content.make_whole(9);
    plan.manifest.emplace();
    plan.said.push_back("lost: nothing");
    return plan;
  }
  TemporaryDirectory data;
};

TEST_F(Copy, HasTheOverwrittenFilesAndTheReport) {
  RepairCopy copy(data.path());
  ASSERT_TRUE(copy.begin());
  ASSERT_TRUE(copy.add_identity());
  ASSERT_TRUE(copy.add("s01", changes()));
  EXPECT_FALSE(fs::exists(data.path() + "/repair-1")) << "it is not complete yet";
  EXPECT_EQ(copy.finish(), data.path() + "/repair-1");
  EXPECT_EQ(data.read("repair-1/PAWL"), "identity");
  EXPECT_EQ(data.read("repair-1/s01/000000000003.seg"), "segment 3");
  EXPECT_EQ(data.read("repair-1/s01/MANIFEST.a"), "manifest a");
  EXPECT_FALSE(fs::exists(data.path() + "/repair-1/s01/000000000004.seg"));
  const std::string readme = data.read("repair-1/README");
  for (const char* line :
       {"made: s01/000000000009.seg\n", "made: s01/MANIFEST.b\n", "s01: lost: nothing\n"})
    EXPECT_NE(readme.find(line), std::string::npos) << line;
}

TEST_F(Copy, TakesTheNextNumberAndReplacesAnInterruptedCopy) {
  fs::create_directory(data.path() + "/repair-1");
  data.write("repair-2.tmp/s01/old", "of an interrupted repair");
  RepairCopy copy(data.path());
  ASSERT_TRUE(copy.begin());
  EXPECT_EQ(copy.finish(), data.path() + "/repair-2");
  EXPECT_FALSE(fs::exists(data.path() + "/repair-2/s01"));
}

TEST_F(Copy, AnErrorNamesThePath) {
  RepairCopy nowhere(data.path() + "/none");
  EXPECT_EQ(nowhere.begin().error(),
            "cannot make " + data.path() + "/none/repair-1.tmp: No such file or directory");
  fs::remove(data.path() + "/PAWL");
  RepairCopy copy(data.path());
  ASSERT_TRUE(copy.begin());
  EXPECT_EQ(copy.add_identity().error(), "cannot copy " + data.path() + "/PAWL to " + data.path() +
                                             "/repair-1.tmp/PAWL: No such file or directory");
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "wal/repair/apply.h"

#include "tests/wal/repair/repair_fixture.h"

namespace pawl {
namespace {

class Apply : public RepairTest {
 protected:
  std::string error_of(const RepairPlan& plan) {
    const auto applied = apply_repair(plan, *disk, "DIR");
    return applied ? "" : applied.error();
  }
};

TEST_F(Apply, WritesTheFramesAfterTheEndBeforeThoseInTheGaps) {
  fill_segments();
  damage(segment_name(1), frame(0) + 100);
  const RepairPlan planned = plan();
  ASSERT_NE(planned.appended, UINT64_MAX);
  const std::string last = segment_name(geometry().segment_of(planned.appended));
  ASSERT_NE(last, segment_name(1));
  disk->trace = true;
  ASSERT_EQ(error_of(planned), "");
  EXPECT_EQ(disk->calls,
            (std::vector<std::string>{"write_now " + last, "write_now " + segment_name(1),
                                      disk->calls[2], disk->calls[3]}));
  EXPECT_NE(disk->calls[2], disk->calls[3]);
  for (const std::size_t i : {2, 3}) EXPECT_EQ(disk->calls[i].find("write_now MANIFEST."), 0u);
}

TEST_F(Apply, WritesBothManifestsWithRisingGenerations) {
  fill(3);
  damage(first_segment, frame(1) + 100);
  const RepairPlan planned = plan();
  for (const std::string_view name : manifest_names) disk->files.erase(std::string(name));
  ASSERT_EQ(error_of(planned), "");
  std::set<std::uint64_t> generations;
  for (const std::string_view name : manifest_names) {
    const auto manifest =
        read_manifest(ConstBlock(disk->content(std::string(name)).data(), block_bytes));
    ASSERT_TRUE(manifest);
    EXPECT_EQ(name, manifest_names[manifest->generation % 2]);
    EXPECT_EQ(manifest->durable, planned.manifest->durable);
    generations.insert(manifest->generation);
  }
  const std::uint64_t before = planned.manifest->generation;
  EXPECT_EQ(generations, (std::set<std::uint64_t>{before + 1, before + 2}));
}

TEST_F(Apply, AMissingSegmentHasFullSizeBeforeItsName) {
  fill(1);
  RepairPlan plan(content());
  plan.content.make_whole(5);
  // An interrupted repair left a part of it.
  disk->files[segment_name(5) + ".tmp"] =
      std::make_shared<std::vector<std::byte>>(99, std::byte{9});
  disk->trace = true;
  ASSERT_EQ(error_of(plan), "");
  EXPECT_EQ(disk->calls.back(), "rename " + segment_name(5) + ".tmp " + segment_name(5));
  EXPECT_FALSE(disk->files.contains(segment_name(5) + ".tmp"));
  const std::vector<std::byte>& made = disk->content(segment_name(5));
  ASSERT_EQ(made.size(), options.segment_bytes);
  const auto header = read_segment_header(ConstBlock(made.data(), block_bytes));
  ASSERT_TRUE(header);
  EXPECT_EQ(header->number, 5u);
  EXPECT_EQ(header->base, geometry().segment_base(5));
  EXPECT_TRUE(std::all_of(made.begin() + block_bytes, made.end(),
                          [](std::byte b) { return b == std::byte{0}; }));
}

TEST_F(Apply, SegmentsOfAnotherSizeKeepTheirContent) {
  fill(4);
  log.reset();
  const std::vector<std::byte> whole = disk->content(first_segment);
  for (const std::size_t bytes : {std::size_t{20'001}, whole.size() + 5000}) {
    disk->content(first_segment).resize(bytes, std::byte{0xaa});
    RepairPlan plan(content());
    plan.content.make_whole(0);
    ASSERT_EQ(error_of(plan), "");
    EXPECT_EQ(disk->content(first_segment), whole) << bytes;
    EXPECT_FALSE(disk->files.contains(std::string(first_segment) + ".tmp"));
  }
}

TEST_F(Apply, AnErrorNamesTheOperationTheFileAndTheReason) {
  fill(1);
  RepairPlan missing(content());
  missing.content.put(geometry().segment_base(6) + block_bytes,
                      std::vector<std::byte>(block_bytes));
  EXPECT_EQ(error_of(missing), "cannot open DIR/000000000006.seg: No such file or directory");
  RepairPlan large(content());
  large.content.make_whole(6);
  disk->capacity = 0;
  for (const auto& [name, bytes] : disk->files) disk->capacity += bytes->size();
  disk->capacity += block_bytes;
  EXPECT_EQ(error_of(large), "cannot write DIR/000000000006.seg.tmp: No space left on device");
  EXPECT_FALSE(disk->files.contains(segment_name(6)));
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "wal/repair/manifests.h"

#include "tests/wal/repair/repair_fixture.h"

namespace pawl {
namespace {

class ReadManifests : public RepairTest {
 protected:
  void put(int i, std::uint64_t generation) {
    auto file = std::make_shared<std::vector<std::byte>>(block_bytes);
    write_manifest(Block(file->data(), block_bytes), {.stream = options.stream,
                                                      .segment_bytes = options.segment_bytes,
                                                      .extent_bytes = options.extent_bytes,
                                                      .generation = generation});
    disk->files[std::string(manifest_names[i])] = file;
  }
  void expect(int files, int whole, std::uint64_t generation) {
    const auto read = read_manifests(*disk);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->files, files);
    EXPECT_EQ(read->whole, whole);
    EXPECT_EQ(read->newest.has_value(), whole > 0);
    EXPECT_EQ(read->newest.value_or(Manifest{}).generation, generation);
  }
};

TEST_F(ReadManifests, TheWholeOneOfTheHigherGenerationCounts) {
  expect(0, 0, 0);
  put(1, 7);
  expect(1, 1, 7);
  put(0, 8);
  expect(2, 2, 8);
  damage("MANIFEST.a", 60);
  expect(2, 1, 7);
  disk->content("MANIFEST.b").resize(100);
  expect(2, 0, 0);
}

TEST_F(ReadManifests, ANewerVersionIsAnError) {
  put(0, 1);
  auto& bytes = disk->content("MANIFEST.a");
  const std::uint32_t version = block_version + 1;
  std::memcpy(bytes.data() + 4, &version, sizeof version);
  std::memset(bytes.data() + 8, 0, 8);
  const std::uint64_t hash = hash_bytes(bytes, 0);
  std::memcpy(bytes.data() + 8, &hash, sizeof hash);
  EXPECT_EQ(read_manifests(*disk).error().code, Errc::version);
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "wal/manifest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tests/wal/memory_disk.h"

namespace pawl {
namespace {

constexpr std::uint64_t stream = 0x5eed;

class ManifestFilesTest : public testing::Test {
 protected:
  Result<std::optional<Manifest>> open() {
    files = std::make_unique<ManifestFiles>(disk);
    return files->open();
  }
  static Manifest manifest(std::uint64_t epoch) {
    return {.stream = stream, .segment_bytes = 64 << 10, .extent_bytes = 16 << 10, .epoch = epoch};
  }
  // The epoch of the manifest in a file; 0: it is not whole.
  std::uint64_t epoch_in(std::string_view name) {
    const auto& bytes = disk.content(std::string(name));
    if (bytes.size() < block_bytes) return 0;
    const auto read = read_manifest(ConstBlock(bytes.data(), block_bytes));
    return read ? read->epoch : 0;
  }
  void damage(std::string_view name) { disk.content(std::string(name))[100] ^= std::byte{1}; }

  MemoryDisk disk;
  std::unique_ptr<ManifestFiles> files;
};

TEST_F(ManifestFilesTest, AreMadeEmptyInANewDirectory) {
  const auto found = open();
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, std::nullopt);
  EXPECT_TRUE(disk.files.contains("MANIFEST.a"));
  EXPECT_TRUE(disk.files.contains("MANIFEST.b"));
}

TEST_F(ManifestFilesTest, AreWrittenInTurnSoThatTheOtherStaysWhole) {
  ASSERT_TRUE(open());
  for (std::uint64_t epoch = 1; epoch <= 4; ++epoch) {
    ASSERT_TRUE(files->write_now(manifest(epoch)));
    EXPECT_EQ(files->current().epoch, epoch);
    EXPECT_EQ(files->written(), epoch);
    const auto& [odd, even] = std::pair{epoch_in("MANIFEST.b"), epoch_in("MANIFEST.a")};
    EXPECT_EQ(std::max(odd, even), epoch);
    EXPECT_EQ(std::min(odd, even), epoch - 1) << "the one before";
  }
}

TEST_F(ManifestFilesTest, TheNewestWholeOneCounts) {
  ASSERT_TRUE(open());
  for (const std::uint64_t epoch : {7, 6, 5}) ASSERT_TRUE(files->write_now(manifest(epoch)));
  auto found = open();
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->epoch, 5u) << "by generation, not by epoch";
  EXPECT_EQ(files->current().generation, 3u);
  damage(manifest_names[3 % 2]);
  found = open();
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->epoch, 6u);
  damage(manifest_names[2 % 2]);
  found = open();
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, std::nullopt);
}

TEST_F(ManifestFilesTest, ADamagedOneIsReplacedByTheNext) {
  ASSERT_TRUE(open());
  for (const std::uint64_t epoch : {1, 2, 3}) ASSERT_TRUE(files->write_now(manifest(epoch)));
  damage(manifest_names[3 % 2]);
  ASSERT_TRUE(open());
  ASSERT_TRUE(files->write_now(manifest(4)));
  EXPECT_EQ(epoch_in(manifest_names[3 % 2]), 4u);
  EXPECT_EQ(epoch_in(manifest_names[2 % 2]), 2u) << "it was the only whole one";
}

TEST_F(ManifestFilesTest, OneOfANewerVersionIsRefusedThoughTheOtherIsWhole) {
  ASSERT_TRUE(open());
  for (const std::uint64_t epoch : {1, 2}) ASSERT_TRUE(files->write_now(manifest(epoch)));
  auto& bytes = disk.content("MANIFEST.b");
  constexpr std::size_t version_at = 4, hash_at = 8;
  std::uint32_t version;
  std::memcpy(&version, bytes.data() + version_at, sizeof version);
  ASSERT_EQ(version, block_version);
  ++version;
  std::memcpy(bytes.data() + version_at, &version, sizeof version);
  std::memset(bytes.data() + hash_at, 0, sizeof(std::uint64_t));
  const std::uint64_t hash = hash_bytes(bytes, 0);
  std::memcpy(bytes.data() + hash_at, &hash, sizeof hash);
  const auto found = open();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Errc::version);
}

TEST_F(ManifestFilesTest, AWriteIsTheCurrentOneWhenItIsDone) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(files->write_now(manifest(1)));
  EXPECT_FALSE(files->busy());
  EXPECT_EQ(files->finish(), false) << "nothing is under way";
  disk.hold = true;
  files->write(manifest(2));
  EXPECT_TRUE(files->busy());
  EXPECT_EQ(files->finish(), false);
  EXPECT_EQ(files->current().epoch, 1u);
  disk.finish_all();
  EXPECT_TRUE(files->busy()) << "until finish()";
  EXPECT_EQ(files->finish(), true);
  EXPECT_FALSE(files->busy());
  EXPECT_EQ(files->current().epoch, 2u);
  EXPECT_EQ(files->current().generation, 2u);
  EXPECT_EQ(files->written(), 2u);
  EXPECT_EQ(disk.unflushed_writes, 0u);
}

TEST_F(ManifestFilesTest, AFailedOrShortWriteLeavesTheCurrentOne) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(files->write_now(manifest(1)));
  disk.hold = true;
  for (const auto& [result, sys] : {
           std::pair{-ENOSPC, ENOSPC},
           {512,     EIO   }
  }) {
    files->write(manifest(2));
    disk.finish(0, result);
    const auto finished = files->finish();
    ASSERT_FALSE(finished);
    EXPECT_EQ(finished.error().code, Errc::io);
    EXPECT_EQ(finished.error().sys, sys);
    EXPECT_EQ(files->current().epoch, 1u);
    EXPECT_FALSE(files->busy());
  }
  EXPECT_EQ(files->written(), 1u);
}

TEST(ManifestFilesDeathTest, ASecondWriteBeforeTheFirstIsFinishedIsAMistake) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  MemoryDisk disk;
  ManifestFiles files(disk);
  ASSERT_TRUE(files.open());
  files.write({});
  EXPECT_DEATH(files.write({}), "busy");
}

TEST(AbsenceOf, ALogIsTheDirectorysOnlyAtItsTimeAndOfItsStream) {
  struct Case {
    const char* name;
    std::optional<Manifest> manifest;
    bool segments;
    LogMembership membership;
    LogAbsence expected;
  };
  const auto written = [](std::uint64_t of, std::uint64_t epoch, std::uint64_t start) {
    return Manifest{.stream = of, .epoch = epoch, .start = start};
  };
  const LogMembership none{}, known{.made = true, .starts = 5};
  const Case cases[] = {
      {"a new directory", {}, false, none, LogAbsence::none},
      {"an older program's log", written(stream, 1, 0), true, none, LogAbsence::none},
      {"another log in a new directory", written(stream + 1, 1, 0), true, none,
       LogAbsence::another_log},
      {"the latest startup's", written(stream, 1, 5), true, known, LogAbsence::none},
      {"an interrupted startup's", written(stream, 1, 6), true, known, LogAbsence::none},
      {"an older copy", written(stream, 1, 4), true, known, LogAbsence::another_time},
      {"a later copy", written(stream, 1, 7), true, known, LogAbsence::another_time},
      {"another log at the same startup", written(stream + 1, 1, 5), true, known,
       LogAbsence::another_log},
      {"no files", {}, false, known, LogAbsence::lost},
      {"segments with damaged manifests", {}, true, known, LogAbsence::none},
      {"a log that was never made whole", written(stream, 0, 5), false, known, LogAbsence::lost},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(absence_of(c.manifest, c.segments, stream, c.membership), c.expected);
  }
}

}  // namespace
}  // namespace pawl

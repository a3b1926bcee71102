// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/sim_disk.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace pawl::sim {
namespace {

// Block-aligned memory for io_uring, filled with one letter.
class Blocks {
 public:
  explicit Blocks(std::size_t blocks, char fill = 0) : storage_((blocks + 1) * block_bytes) {
    void* start = storage_.data();
    std::size_t room = storage_.size();
    start_ = static_cast<std::byte*>(std::align(block_bytes, blocks * block_bytes, start, room));
    bytes_ = blocks * block_bytes;
    std::memset(start_, fill, bytes_);
  }
  std::span<std::byte> span() { return {start_, bytes_}; }
  char letter(std::size_t at) const { return static_cast<char>(start_[at]); }

 private:
  std::vector<std::byte> storage_;
  std::byte* start_ = nullptr;
  std::size_t bytes_ = 0;
};

SimDiskOptions seeded(std::uint64_t seed) { return {.seed = seed}; }

FileId made(SimDisk& disk, std::string_view name) {
  const auto file = disk.create(name);
  EXPECT_TRUE(file);
  EXPECT_TRUE(disk.sync_dir_now());
  return *file;
}

// Writes, and waits until the write has finished.
std::int32_t write(SimDisk& disk, FileId file, std::uint64_t offset, char fill, Flush flush,
                   std::size_t blocks = 1) {
  Blocks memory(blocks, fill);
  Io io;
  disk.write(file, offset, memory.span(), flush, io);
  disk.settle();
  EXPECT_TRUE(io.done);
  return io.result;
}

std::string letters(const SimDisk& disk, std::string_view name, std::size_t step) {
  std::string result;
  const auto content = disk.content(name);
  for (std::size_t i = 0; i < content.size(); i += step)
    result += content[i] == std::byte{0} ? '.' : static_cast<char>(content[i]);
  return result;
}

TEST(SimDisk, FinishesNothingBeforeItsTimeAndEverythingAfterTheLongestDelay) {
  SimDisk disk;
  const FileId file = made(disk, "a");
  Blocks memory(1, 'x');
  Io io;
  disk.write(file, 0, memory.span(), Flush::no, io);
  disk.step(49);
  EXPECT_TRUE(io.armed);
  EXPECT_FALSE(io.done);
  EXPECT_EQ(letters(disk, "a", block_bytes), "");
  disk.step(5000);
  EXPECT_FALSE(io.armed);
  EXPECT_TRUE(io.done);
  EXPECT_EQ(io.result, 4096);
  EXPECT_EQ(letters(disk, "a", block_bytes), "x");
}

TEST(SimDisk, FinishesOperationsInAnotherOrderThanTheyBegan) {
  bool reordered = false;
  for (std::uint64_t seed = 1; seed < 20 && !reordered; ++seed) {
    SimDisk disk(seeded(seed));
    const FileId file = made(disk, "a");
    Blocks first(1, '1'), second(1, '2');
    Io one, two;
    disk.write(file, 0, first.span(), Flush::no, one);
    disk.write(file, block_bytes, second.span(), Flush::no, two);
    while (!one.done && !two.done) disk.step(*disk.next_due());
    reordered = two.done && !one.done;
    disk.settle();
  }
  EXPECT_TRUE(reordered);
}

TEST(SimDisk, TheSameSeedGivesTheSameRun) {
  const auto run = [](std::uint64_t seed) {
    SimDisk disk(seeded(seed));
    const FileId file = made(disk, "a");
    Blocks memory(8, 'x');
    Io io;
    disk.write(file, 0, memory.span(), Flush::no, io);
    disk.crash(Crash::power);
    return letters(disk, "a", 512);
  };
  std::set<std::string> different;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    EXPECT_EQ(run(seed), run(seed));
    different.insert(run(seed));
  }
  EXPECT_GT(different.size(), 10u);
}

TEST(SimDisk, APowerCutKeepsEveryFlushedWriteAndThoseThatHadFinishedBefore) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SimDisk disk(seeded(seed));
    const FileId file = made(disk, "a");
    write(disk, file, 0, '1', Flush::no, 2);
    write(disk, file, 2 * block_bytes, '2', Flush::yes, 2);
    disk.crash(Crash::power);
    EXPECT_EQ(letters(disk, "a", block_bytes), "1122") << "seed " << seed;
  }
}

TEST(SimDisk, AFlushDoesNotCoverAWriteThatFinishedAfterTheFlushBegan) {
  unsigned lost = 0, cases = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SimDisk disk(seeded(seed));
    const FileId file = made(disk, "a");
    write(disk, file, 0, '0', Flush::yes, 2);
    Blocks memory(1, '1');
    Io written, synced;
    disk.write(file, 0, memory.span(), Flush::no, written);
    disk.sync(file, synced);
    while (!synced.done) disk.step(*disk.next_due());
    if (!written.done) continue;  // the case under test: the write was quicker than the flush
    ++cases;
    disk.crash(Crash::power);
    lost += letters(disk, "a", 512)[0] == '0';
  }
  EXPECT_GT(cases, 10u);
  EXPECT_GT(lost, 0u);
}

TEST(SimDisk, APowerCutTearsWhatWasNotFlushedIntoSectors) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SimDisk disk(seeded(seed));
    const FileId file = made(disk, "a");
    write(disk, file, 0, 'o', Flush::yes);
    write(disk, file, 0, 'n', Flush::no);
    const std::string after = letters(*disk.copy_after_crash(Crash::power, seed), "a", 512);
    EXPECT_EQ(after.size(), 8u);
    EXPECT_EQ(after.find_first_not_of("on"), after.npos) << after;
    seen.insert(after);
  }
  EXPECT_TRUE(seen.contains("oooooooo"));
  EXPECT_TRUE(seen.contains("nnnnnnnn"));
  EXPECT_GT(seen.size(), 10u);
}

TEST(SimDisk, ALaterUnflushedWriteIsNeverOverwrittenByAnEarlierOne) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SimDisk disk(seeded(seed));
    const FileId file = made(disk, "a");
    write(disk, file, 0, '1', Flush::no);
    write(disk, file, 0, '2', Flush::yes);
    write(disk, file, 0, '3', Flush::no);
    disk.crash(Crash::power);
    const std::string after = letters(disk, "a", 512);
    EXPECT_EQ(after.find_first_not_of("23"), after.npos) << after;
  }
}

TEST(SimDisk, AProcessCrashKeepsWhatHadFinishedAndAnyPartOfWhatHadNot) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SimDisk disk(seeded(seed));
    const FileId file = *disk.create("a");  // the name is not synced, and survives nevertheless
    write(disk, file, 0, 'f', Flush::no);
    Blocks memory(1, 'w');
    Io io;
    disk.write(file, block_bytes, memory.span(), Flush::yes, io);
    disk.crash(Crash::process);
    EXPECT_TRUE(io.armed) << "the Io of a dead owner was touched";
    const std::string after = letters(disk, "a", 512);
    EXPECT_EQ(after.substr(0, 8), "ffffffff");
    seen.insert(after.substr(8));
    // Data that a reader sees and then flushes is durable.
    ASSERT_TRUE(disk.sync_now(*disk.open("a")));
    ASSERT_TRUE(disk.sync_dir_now());
    EXPECT_EQ(letters(*disk.copy_after_crash(Crash::power, seed), "a", 512), after);
  }
  EXPECT_GT(seen.size(), 10u);
}

TEST(SimDisk, NamesAreCertainOnlyAfterTheDirectoryIsSynced) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SimDisk disk(seeded(seed));
    made(disk, "old");
    ASSERT_TRUE(disk.create("tmp"));
    ASSERT_TRUE(disk.rename("tmp", "new"));
    ASSERT_TRUE(disk.remove("old"));
    const auto after = disk.copy_after_crash(Crash::power, seed);
    std::string names;
    for (const char* name : {"new", "old", "tmp"})
      if (after->exists(name)) names += std::string(name) + " ";
    seen.insert(names);
    ASSERT_TRUE(disk.sync_dir_now());
    disk.crash(Crash::power);
    EXPECT_TRUE(disk.exists("new") && !disk.exists("old") && !disk.exists("tmp"));
  }
  const std::set<std::string> plausible{"", "new ", "new old ", "old ", "old tmp ", "tmp "};
  EXPECT_EQ(seen, plausible);
}

TEST(SimDisk, ARenameOverAFileLeavesTheOldContentOrTheNewNeverNone) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SimDisk disk(seeded(seed));
    write(disk, made(disk, "manifest"), 0, 'o', Flush::yes);
    write(disk, made(disk, "manifest.new"), 0, 'n', Flush::yes);
    ASSERT_TRUE(disk.rename("manifest.new", "manifest"));
    disk.crash(Crash::power);
    ASSERT_TRUE(disk.exists("manifest"));
    const std::string after = letters(disk, "manifest", block_bytes);
    EXPECT_TRUE(after == "o" || after == "n") << after;
  }
}

TEST(SimDisk, SyncDirCoversOnlyTheNamesThatExistedWhenItBegan) {
  bool lost = false;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SimDisk disk(seeded(seed));
    ASSERT_TRUE(disk.create("before"));
    Io io;
    disk.sync_dir(io);
    ASSERT_TRUE(disk.create("after"));
    disk.settle();
    ASSERT_TRUE(io.done);
    disk.crash(Crash::power);
    EXPECT_TRUE(disk.exists("before"));
    lost |= !disk.exists("after");
  }
  EXPECT_TRUE(lost);
}

TEST(SimDisk, InjectedErrorsAreReportedOnceOrForeverAndAckNothing) {
  SimDisk disk;
  const FileId file = made(disk, "a");
  disk.fail_next_write(EIO);
  EXPECT_EQ(write(disk, file, 0, 'x', Flush::yes), -EIO);
  EXPECT_EQ(write(disk, file, 0, 'x', Flush::yes), 4096);
  disk.fail(IoKind::sync, EIO, 1, true);
  EXPECT_EQ(write(disk, file, 0, 'x', Flush::yes), 4096) << "the first one is let pass";
  EXPECT_EQ(write(disk, file, 0, 'x', Flush::yes), -EIO);
  EXPECT_EQ(disk.sync_now(file).error().sys, EIO);
  disk.heal();
  disk.fail_next_read(EIO);
  Blocks memory(1);
  EXPECT_EQ(disk.read_now(file, 0, memory.span()).error().sys, EIO);
  EXPECT_EQ(*disk.read_now(file, 0, memory.span()), block_bytes);
  disk.fail(IoKind::rename, EIO);
  EXPECT_EQ(disk.rename("a", "b").error().sys, EIO);
  EXPECT_TRUE(disk.exists("a"));
}

TEST(SimDisk, AWriteWhoseFlushFailedIsNotMadeDurableByTheNextFlush) {
  unsigned lost = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SimDisk disk(seeded(seed));
    const FileId file = made(disk, "a");
    write(disk, file, 0, 'o', Flush::yes);
    disk.fail_next_sync(EIO);
    EXPECT_EQ(write(disk, file, 0, 'n', Flush::yes), -EIO);
    ASSERT_TRUE(disk.sync_now(file));
    disk.crash(Crash::power);
    lost += letters(disk, "a", 512)[0] == 'o';
  }
  EXPECT_GT(lost, 0u);
}

TEST(SimDisk, WhatAFailedWriteLeftIsGoneWhenItWasWrittenAgain) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SimDisk disk(seeded(seed));
    const FileId file = made(disk, "a");
    disk.fail_next_write(EIO);
    EXPECT_EQ(write(disk, file, 0, '1', Flush::no, 2), -EIO);
    write(disk, file, 0, '2', Flush::yes, 1);
    disk.crash(Crash::power);
    EXPECT_EQ(letters(disk, "a", block_bytes)[0], '2') << "seed " << seed;
  }
}

TEST(SimDisk, TheSizeThatAKilledProcessLeftIsDurableAfterTheNextFlush) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SimDisk disk(seeded(seed));
    const FileId file = made(disk, "a");
    disk.fail_next_sync(EIO);
    write(disk, file, 0, '1', Flush::yes, 4);
    disk.crash(Crash::process);
    ASSERT_EQ(disk.content("a").size(), 4 * block_bytes);
    const auto again = disk.open("a");
    ASSERT_TRUE(again && disk.sync_now(*again));
    disk.crash(Crash::power);
    EXPECT_EQ(disk.content("a").size(), 4 * block_bytes) << "seed " << seed;
  }
}

TEST(SimDisk, AFullDiskRefusesToGrowButTakesOverwrites) {
  SimDisk disk(SimDiskOptions{.capacity = 2 * block_bytes});
  const FileId file = made(disk, "a");
  EXPECT_EQ(write(disk, file, 0, '1', Flush::yes, 2), 8192);
  EXPECT_EQ(write(disk, file, 2 * block_bytes, '2', Flush::yes), -ENOSPC);
  Blocks memory(1, '3');
  EXPECT_EQ(disk.write_now(file, 2 * block_bytes, memory.span()).error().sys, ENOSPC);
  EXPECT_EQ(write(disk, file, block_bytes, '4', Flush::yes), 4096);
  EXPECT_EQ(letters(disk, "a", block_bytes), "14");
}

TEST(SimDisk, ReadsAreShortAtTheEndOfAFileAndWhenToldSo) {
  SimDisk disk;
  const FileId file = made(disk, "a");
  write(disk, file, 0, 'x', Flush::no, 2);
  Blocks memory(4);
  EXPECT_EQ(*disk.read_now(file, block_bytes, memory.span()), block_bytes);
  EXPECT_EQ(*disk.read_now(file, 9 * block_bytes, memory.span()), 0u);
  disk.short_next_read(100);
  Io io;
  disk.read(file, 0, memory.span(), io);
  disk.settle();
  EXPECT_EQ(io.result, 100);
  EXPECT_EQ(memory.letter(99), 'x');
}

TEST(SimDisk, ABitFlipIsReadBackAndSurvivesACrash) {
  SimDisk disk;
  const FileId file = made(disk, "a");
  write(disk, file, 0, 'x', Flush::yes);
  disk.flip_bit("a", 7, 0);
  disk.crash(Crash::power);
  EXPECT_EQ(letters(disk, "a", 1).substr(6, 3), "xyx");
}

TEST(SimDisk, ABitThatFlipsBackIsWholeAfterAFlushAndACrash) {
  SimDisk disk;
  const FileId file = made(disk, "a");
  write(disk, file, 0, 'x', Flush::no);  // in the cache
  disk.flip_bit("a", 7, 0);
  EXPECT_EQ(letters(disk, "a", 1).substr(6, 3), "xyx");
  ASSERT_TRUE(disk.sync_now(file));
  disk.flip_bit("a", 7, 0);
  EXPECT_EQ(letters(disk, "a", 1).substr(6, 3), "xxx");
  // With a write pending, the crash takes all other bytes from the durable ones.
  write(disk, file, block_bytes, 'z', Flush::no);
  disk.crash(Crash::power);
  EXPECT_EQ(letters(disk, "a", 1).substr(6, 3), "xxx");
}

TEST(SimDisk, NothingHappensAfterThePowerIsCutUntilTheCrashTurnsItOn) {
  SimDisk disk;
  const FileId file = made(disk, "a");
  write(disk, file, 0, 'o', Flush::yes);
  disk.cut_power_after(1);
  Blocks memory(1, 'n');
  Io io;
  disk.write(file, 0, memory.span(), Flush::yes, io);
  EXPECT_FALSE(disk.has_power());
  disk.settle();
  EXPECT_TRUE(io.armed);
  EXPECT_FALSE(disk.sync_now(file));
  EXPECT_FALSE(disk.create("b"));
  EXPECT_FALSE(disk.list());
  disk.crash(Crash::power);
  EXPECT_TRUE(disk.has_power());
  EXPECT_FALSE(disk.exists("b"));
  EXPECT_EQ(disk.list()->size(), 1u);
}

using SimDiskDeathTest = ::testing::Test;

TEST(SimDiskDeathTest, MisuseIsNoticed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  SimDisk disk;
  const FileId file = made(disk, "a");
  Blocks memory(2, 'x');
  Io io, other;
  EXPECT_DEATH(disk.write(file, 512, memory.span(), Flush::no, io), "aligned");
  EXPECT_DEATH(disk.write(file, 0, memory.span().subspan(512, 4096), Flush::no, io), "aligned");
  EXPECT_DEATH(disk.read(file, 0, memory.span().first(100), io), "aligned");
  disk.write(file, 0, memory.span(), Flush::no, io);
  EXPECT_DEATH(disk.write(file, 8192, memory.span(), Flush::no, io), "used again");
  EXPECT_DEATH(disk.write(file, 4096, memory.span().first(4096), Flush::no, other), "overlap");
  memory.span()[0] = std::byte{'y'};
  EXPECT_DEATH(disk.settle(), "memory changed");
  disk.crash(Crash::power);
  EXPECT_DEATH(disk.close(file), "not an open file");
}

TEST(Random, IsTheSameEverywhereAndSplitsIntoIndependentStreams) {
  Random random(1);
  const Random before = random;
  const std::uint64_t first = random.next();
  EXPECT_EQ(first, Random(1).next());
  EXPECT_NE(first, Random(2).next());
  Random from_used = random.split("disk"), from_fresh = before.split("disk");
  EXPECT_EQ(from_used.next(), from_fresh.next());
  EXPECT_NE(before.split("disk").next(), before.split("net").next());
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 200; ++i) seen.insert(random.between(3, 7));
  EXPECT_EQ(seen, (std::set<std::uint64_t>{3, 4, 5, 6, 7}));
}

}  // namespace
}  // namespace pawl::sim

// SPDX-License-Identifier: Apache-2.0
#include "tests/fault/volatile_tree.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>

namespace pawl::fault {
namespace {

constexpr std::uint64_t seeds = 200;

class VolatileTreeTest : public testing::Test {
 protected:
  void SetUp() override { start(); }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  // Replaces the disk by an empty one.
  void start() {
    tree_.reset();
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
    std::string name = testing::TempDir() + "volatile-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
    tree_ = std::make_unique<VolatileTree>(directory_);
  }
  CutReport cut_and_start(std::uint64_t seed) {
    const CutReport report = tree_->cut(seed);
    tree_ = std::make_unique<VolatileTree>(directory_);
    return report;
  }

  NodePtr create(std::string_view path) { return tree_->create(path, false, 0600).value(); }
  void write(const NodePtr& file, std::uint64_t offset, std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    ASSERT_EQ(tree_->write(file, offset, bytes), static_cast<int>(text.size()));
  }
  void sync(const NodePtr& node) { tree_->sync(node, tree_->now()); }
  void sync_names() { sync(tree_->find("/")); }
  // The bytes of a file; "-" if it does not exist.
  std::string text(std::string_view path) {
    const NodePtr file = tree_->find(path);
    if (file == nullptr) return "-";
    std::string into(file->bytes, '?');
    into.resize(tree_->read(*file, 0, std::as_writable_bytes(std::span(into))));
    return into;
  }

  std::string directory_;
  std::unique_ptr<VolatileTree> tree_;
};

TEST_F(VolatileTreeTest, WhatIsPendingIsReadAsIfItWereThere) {
  const NodePtr file = create("/a");
  write(file, 0, "hello");
  sync(file);
  write(file, 3, "p me");
  EXPECT_EQ(text("/a"), "help me");
  tree_->truncate(file, 2);
  write(file, 4, "x");
  EXPECT_EQ(text("/a"), std::string("he\0\0x", 5));
}

TEST_F(VolatileTreeTest, WhatWasSyncedSurvivesEveryCut) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    start();
    const NodePtr file = create("/a");
    write(file, 0, "durable");
    sync(file);
    sync_names();
    write(file, 7, "!");
    cut_and_start(seed);
    EXPECT_EQ(text("/a").substr(0, 7), "durable") << seed;
  }
}

TEST_F(VolatileTreeTest, WhatWasNotSyncedIsSometimesThereAndSometimesNot) {
  int there = 0, torn = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    start();
    const NodePtr file = create("/a");
    sync_names();
    write(file, 0, std::string(1024, 'x'));
    cut_and_start(seed);
    const std::string left = text("/a");
    const bool first = left.starts_with('x'), second = left.size() == 1024 && left.ends_with('x');
    there += first && second;
    torn += first != second;
  }
  EXPECT_GT(there, 10);
  EXPECT_GT(torn, 5);
  EXPECT_LT(there + torn, static_cast<int>(seeds) - 10);
}

TEST_F(VolatileTreeTest, ALateWriteMaySurviveAnEarlyOne) {
  int late = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    start();
    const NodePtr file = create("/a");
    sync_names();
    write(file, 0, std::string(4096, 'x'));
    write(file, 4096, std::string(4096, 'y'));
    cut_and_start(seed);
    const std::string left = text("/a");
    late += left.size() == 8192 && left[0] == '\0' && left[4096] == 'y';
  }
  EXPECT_GT(late, 10);
}

TEST_F(VolatileTreeTest, AFileThatWasSyncedHasNoNameBeforeItsDirectoryIs) {
  int there = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    start();
    const NodePtr file = create("/a");
    write(file, 0, "x");
    sync(file);
    cut_and_start(seed);
    const std::string left = text("/a");
    EXPECT_TRUE(left == "x" || left == "-") << left;
    there += left == "x";
  }
  EXPECT_GT(there, 10);
  EXPECT_LT(there, static_cast<int>(seeds) - 10);
}

TEST_F(VolatileTreeTest, ARenameHasHappenedOrNot) {
  int renamed = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    start();
    for (const auto& [path, letter] : {
             std::pair{"/old", "o"},
             {"/new", "n"}
    }) {
      const NodePtr file = create(path);
      write(file, 0, letter);
      sync(file);
    }
    sync_names();
    ASSERT_EQ(tree_->rename("/new", "/old"), 0);
    EXPECT_EQ(text("/old") + text("/new"), "n-");
    cut_and_start(seed);
    const std::string left = text("/old") + text("/new");
    EXPECT_TRUE(left == "on" || left == "n-") << left;
    renamed += left == "n-";
  }
  EXPECT_GT(renamed, 10);
  EXPECT_LT(renamed, static_cast<int>(seeds) - 10);
}

TEST_F(VolatileTreeTest, ADirectoryThatIsLostTakesWhatIsInItAlong) {
  int lost = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    start();
    const NodePtr directory = tree_->create("/d", true, 0700).value();
    write(create("/d/a"), 0, "x");
    sync(tree_->find("/d/a"));
    sync(directory);
    cut_and_start(seed);
    const std::string left = text("/d/a");
    EXPECT_EQ(left == "x", tree_->find("/d") != nullptr) << left;
    lost += left == "-";
  }
  EXPECT_GT(lost, 10);
}

TEST_F(VolatileTreeTest, AFullDiskTakesOnlyWhatMakesNoFileLonger) {
  const NodePtr file = create("/a");
  write(file, 0, "12345678");
  tree_->set_capacity(10);
  EXPECT_EQ(tree_->write(file, 8, std::as_bytes(std::span("xyz", 3))), -ENOSPC);
  write(file, 0, "abcdefghij");
  EXPECT_EQ(tree_->used(), 10u);
  ASSERT_EQ(tree_->remove("/a", false), 0);
  EXPECT_EQ(tree_->used(), 0u);
}

}  // namespace
}  // namespace pawl::fault

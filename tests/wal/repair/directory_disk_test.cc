// SPDX-License-Identifier: Apache-2.0
#include "wal/repair/directory_disk.h"

#include <cerrno>

#include "tests/wal/repair/repair_fixture.h"

namespace pawl {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

class DirectoryOfALog : public testing::Test {
 protected:
  TemporaryDirectory files;
  DirectoryDisk reader{files.path()};
  DirectoryDisk writer{files.path(), DirectoryDisk::Access::write};
};

TEST_F(DirectoryOfALog, ListsFilesByName) {
  files.write("b", "12");
  files.write("a", "1");
  const auto listed = reader.list();
  ASSERT_TRUE(listed);
  ASSERT_EQ(listed->size(), 2u);
  EXPECT_EQ((*listed)[0].name, "a");
  EXPECT_EQ((*listed)[1].name, "b");
  EXPECT_EQ((*listed)[1].bytes, 2u);
  EXPECT_EQ(DirectoryDisk(files.path() + "/none").list().error().sys, ENOENT);
}

TEST_F(DirectoryOfALog, ReadsAndWritesAtAnyOffset) {
  files.write("a", "0123456789");
  const auto file = writer.open("a");
  ASSERT_TRUE(file);
  ASSERT_TRUE(writer.write_now(*file, 8, bytes_of("xyz")));
  ASSERT_TRUE(writer.sync_now(*file));
  std::string read(20, '.');
  const auto bytes = writer.read_now(*file, 7, std::as_writable_bytes(std::span(read)));
  ASSERT_TRUE(bytes);
  EXPECT_EQ(read.substr(0, *bytes), "7xyz");
  writer.close(*file);
  EXPECT_EQ(files.read("a"), "01234567xyz");
  ASSERT_TRUE(writer.sync_dir_now());
}

TEST_F(DirectoryOfALog, NamesAreMadeRenamedAndDeleted) {
  EXPECT_EQ(writer.open("a").error().sys, ENOENT);
  const auto file = writer.create("a");
  ASSERT_TRUE(file);
  writer.close(*file);
  EXPECT_EQ(writer.create("a").error().sys, EEXIST);
  files.write("b", "old");
  ASSERT_TRUE(writer.rename("a", "b"));
  EXPECT_EQ(files.read("b"), "");
  EXPECT_EQ(writer.rename("a", "b").error().sys, ENOENT);
  ASSERT_TRUE(writer.remove("b"));
  EXPECT_EQ(writer.remove("b").error().sys, ENOENT);
}

TEST_F(DirectoryOfALog, AReaderChangesNothing) {
  files.write("a", "text");
  fs::permissions(files.path() + "/a", fs::perms::owner_read);
  const auto file = reader.open("a");
  ASSERT_TRUE(file) << "a read-only file can be read";
  EXPECT_EQ(reader.write_now(*file, 0, bytes_of("x")).error().sys, EBADF);
  reader.close(*file);
  EXPECT_EQ(files.read("a"), "text");
}

TEST_F(DirectoryOfALog, OnlyAReaderFollowsSymbolicLinks) {
  files.write("a", "text");
  fs::create_symlink("a", files.path() + "/link");
  const auto file = reader.open("link");
  ASSERT_TRUE(file);
  reader.close(*file);
  EXPECT_EQ(writer.open("link").error().sys, ELOOP);
}

TEST_F(DirectoryOfALog, ALogIsTheDirectoryOrADirectoryInIt) {
  EXPECT_TRUE(logs_below(files.path() + "/none").empty());
  files.write("s01/MANIFEST.b", "");
  files.write("s00/MANIFEST.a", "");
  files.write("s02/000000000000.seg", "");
  EXPECT_EQ(logs_below(files.path()), (std::vector{files.path() + "/s00", files.path() + "/s01"}));
  EXPECT_EQ(logs_below(files.path() + "/s01"), std::vector{files.path() + "/s01"});
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/io/open_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace pawl {
namespace {

class OpenFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "pawl-files-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
    directory_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    files_ = std::make_unique<OpenFiles>(directory_);
    files_->set_descriptors_max(2);
  }
  void TearDown() override {
    files_.reset();
    ::close(directory_);
    std::filesystem::remove_all(path_);
  }
  FileId create(const std::string& name) {
    const auto made = files_->open(name, O_CREAT | O_EXCL);
    EXPECT_TRUE(made) << name;
    return made.value_or(FileId::none);
  }
  Error error_of(const std::string& name, int flags) {
    const auto opened = files_->open(name, flags);
    EXPECT_FALSE(opened);
    return opened ? Error{} : opened.error();
  }
  // The file that the descriptor of `file` leads to.
  ino_t inode_of(FileId file) {
    const int fd = files_->descriptor_of(file);
    struct stat info{};
    EXPECT_EQ(fstat(fd, &info), 0) << fd;
    return info.st_ino;
  }
  ino_t inode_of(const std::string& name) const {
    struct stat info{};
    EXPECT_EQ(stat((path_ + "/" + name).c_str(), &info), 0) << name;
    return info.st_ino;
  }

  std::string path_;
  int directory_ = -1;
  std::unique_ptr<OpenFiles> files_;
};

TEST_F(OpenFilesTest, ReportAMissingNameAndOneThatExists) {
  for (const bool direct : {true, false}) {
    SCOPED_TRACE(direct);
    files_->set_direct(direct);
    EXPECT_EQ(error_of("missing", 0).sys, ENOENT);
    const std::string name = direct ? "a" : "b";
    create(name);
    EXPECT_EQ(error_of(name, O_CREAT | O_EXCL).sys, EEXIST);
    EXPECT_EQ(error_of(name, O_CREAT | O_EXCL).code, Errc::io);
    EXPECT_TRUE(files_->open(name, 0));
  }
}

TEST_F(OpenFilesTest, OpenWithoutThePageCacheAsLongAsTheFileSystemDoes) {
  const int flags = fcntl(files_->descriptor_of(create("a")), F_GETFL);
  EXPECT_EQ((flags & O_DIRECT) != 0, files_->direct());
  files_->set_direct(false);
  EXPECT_EQ(fcntl(files_->descriptor_of(create("b")), F_GETFL) & O_DIRECT, 0);
}

TEST_F(OpenFilesTest, CloseTheLeastRecentlyUsedFile) {
  const FileId a = create("a"), b = create("b");
  const int kept = files_->descriptor_of(a);
  const FileId c = create("c");
  EXPECT_EQ(files_->descriptors(), 2u);
  EXPECT_EQ(files_->descriptor_of(a), kept) << "b was used before a";
  for (const auto& [file, name] : {
           std::pair(b, "b"), {c, "c"},
             {a, "a"},
             {b, "b"}
  }) {
    EXPECT_EQ(inode_of(file), inode_of(name));
    EXPECT_EQ(files_->descriptors(), 2u);
  }
}

TEST_F(OpenFilesTest, KeepTheDescriptorOfAnOperationUnderWay) {
  const FileId a = create("a"), b = create("b");
  files_->begin(a);
  files_->begin(b);
  files_->begin(b);
  const FileId c = create("c");
  EXPECT_EQ(files_->descriptors(), 3u) << "beyond the limit: no file is eligible";
  files_->end(a);
  files_->end(b);
  create("d");
  EXPECT_EQ(files_->descriptors(), 2u) << "b, of which one operation is left, and d";
  files_->end(b);
  for (const FileId file : {a, b, c}) EXPECT_GE(files_->descriptor_of(file), 0);
  EXPECT_EQ(files_->descriptors(), 2u);
}

TEST_F(OpenFilesTest, KeepTheDescriptorUntilTheLastWriteIsFlushed) {
  files_->set_descriptors_max(1);
  const FileId a = create("a");
  files_->wrote(a);
  const std::uint32_t before = files_->writes(a);
  files_->wrote(a);  // after the flush has begun
  files_->flushed(a, before);
  create("b");
  EXPECT_EQ(files_->descriptors(), 2u);
  files_->flushed(a, files_->writes(a));
  create("c");
  EXPECT_EQ(files_->descriptors(), 1u);
}

TEST_F(OpenFilesTest, KeepTheDescriptorOfADeletedFile) {
  const FileId a = create("a"), b = create("b");
  std::filesystem::remove(path_ + "/a");
  files_->removed("a");
  const int fd = files_->descriptor_of(a);
  const FileId c = create("c"), d = create("d");
  EXPECT_EQ(files_->descriptor_of(a), fd) << "it could not be opened again";
  std::filesystem::remove(path_ + "/b");
  files_->removed("b");
  EXPECT_EQ(files_->descriptor_of(b), -ENOENT) << "it was closed before";
  for (const FileId file : {a, b, c, d}) files_->close(file);
  EXPECT_EQ(files_->descriptors(), 0u);
}

TEST_F(OpenFilesTest, FollowARename) {
  files_->set_descriptors_max(1);
  const FileId a = create("a"), b = create("b"), other = create("c");
  const ino_t inode = inode_of("a");
  std::filesystem::rename(path_ + "/a", path_ + "/b");
  files_->renamed("a", "b");
  EXPECT_EQ(inode_of(other), inode_of("c"));
  EXPECT_EQ(inode_of(a), inode);
  EXPECT_EQ(inode_of(other), inode_of("c"));
  EXPECT_EQ(files_->descriptor_of(b), -ENOENT) << "its name leads to the other file";
}

TEST_F(OpenFilesTest, RefuseAnotherFileOfTheSameName) {
  files_->set_descriptors_max(1);
  const FileId a = create("a");
  create("b");
  std::filesystem::rename(path_ + "/b", path_ + "/a");
  const std::uint32_t before = files_->descriptors();
  EXPECT_EQ(files_->descriptor_of(a), -ESTALE);
  EXPECT_LE(files_->descriptors(), before);
}

TEST_F(OpenFilesTest, AFileSystemThatNeedsALargerAlignmentIsWrittenThroughThePageCache) {
  EXPECT_TRUE((DirectAlignment{}.takes_blocks())) << "it does not say";
  EXPECT_TRUE((DirectAlignment{512, 4096}.takes_blocks()));
  EXPECT_FALSE((DirectAlignment{512, 16'384}.takes_blocks()));
  EXPECT_FALSE((DirectAlignment{65'536, 512}.takes_blocks()));
}

TEST_F(OpenFilesTest, TheAlignmentIsThatOfTheFileSystem) {
  const FileId file = create("a");
  const DirectAlignment found = direct_alignment(files_->descriptor_of(file));
  EXPECT_EQ(files_->direct(), found.takes_blocks());
  EXPECT_EQ(direct_alignment(-1).offset, 0u);
}

}  // namespace
}  // namespace pawl

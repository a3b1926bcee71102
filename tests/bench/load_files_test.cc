// SPDX-License-Identifier: Apache-2.0
#include "bench/load_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace pawl {
namespace {

using load::LoadResult;
using load::round_path;
using load::write_files;

class LoadFiles : public testing::Test {
 protected:
  LoadFiles() {
    std::filesystem::create_directory(directory_);
    options_.rounds = 2;
    options_.hgrm = directory_ / "out.hgrm";
    result_.rounds.resize(2);
    for (std::uint64_t i = 0; i < result_.rounds.size(); ++i) {
      for (std::uint64_t n = 0; n <= i; ++n) result_.rounds[i].latency.record(1000 * (i + 1));
      result_.total.latency.merge(result_.rounds[i].latency);
    }
  }
  ~LoadFiles() override { std::filesystem::remove_all(directory_); }

  // Returns the exit code, and keeps the error text.
  int write() {
    std::FILE* const err = std::tmpfile();
    const int code = write_files(options_, result_, {}, err);
    std::rewind(err);
    err_.resize(1024);
    err_.resize(std::fread(err_.data(), 1, err_.size(), err));
    std::fclose(err);
    return code;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_))
      names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }
  std::string text(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(directory_ / name).rdbuf();
    return text.str();
  }

  const std::filesystem::path directory_ =
      std::filesystem::temp_directory_path() / ("pawl-files-" + std::to_string(::getpid()));
  LoadOptions options_;
  LoadResult result_;
  std::string err_;
};

using Names = std::vector<std::string>;

TEST(RoundPath, SortsInTheOrderOfTheRounds) {
  EXPECT_EQ(round_path("a.b/out.hgrm", 7), "a.b/out.round-007.hgrm");
  EXPECT_EQ(round_path("a.b/out", 12), "a.b/out.round-012");
  EXPECT_EQ(round_path("out.1.hgrm", 100), "out.1.round-100.hgrm");
  Names paths;
  for (std::uint32_t round = 1; round <= 100; ++round) paths.push_back(round_path("x.hgrm", round));
  EXPECT_TRUE(std::ranges::is_sorted(paths));
}

TEST_F(LoadFiles, HoldTheLatenciesOfTheWholeAndOfEachRound) {
  EXPECT_EQ(write(), 0);
  EXPECT_EQ(names(), (Names{"out.hgrm", "out.round-001.hgrm", "out.round-002.hgrm"}));
  EXPECT_NE(text("out.hgrm").find("Total count    =            3]"), std::string::npos);
  EXPECT_NE(text("out.round-001.hgrm").find("Total count    =            1]"), std::string::npos);
  const std::string second = text("out.round-002.hgrm");
  EXPECT_NE(second.find("Total count    =            2]"), std::string::npos) << second;
  EXPECT_NE(second.find("Max     =        2.000"), std::string::npos) << second;
}

TEST_F(LoadFiles, LeaveOutAnOnlyRoundAndIncompleteOnes) {
  result_.rounds.resize(1);
  EXPECT_EQ(write(), 0);
  EXPECT_EQ(names(), (Names{"out.hgrm", "out.round-001.hgrm"})) << "the second was interrupted";
  std::filesystem::remove(directory_ / "out.round-001.hgrm");
  options_.rounds = 1;
  options_.html = directory_ / "out.html";
  EXPECT_EQ(write(), 0);
  EXPECT_EQ(names(), (Names{"out.hgrm", "out.html"}));
  EXPECT_TRUE(text("out.html").ends_with("</html>\n"));
}

TEST_F(LoadFiles, AreNotMadeBesideADevice) {
  options_.hgrm = "/dev/null";
  EXPECT_EQ(write(), 0) << err_;
  EXPECT_FALSE(std::filesystem::exists(round_path("/dev/null", 1)));
}

TEST_F(LoadFiles, AreNotMadeBesideALink) {
  options_.hgrm = directory_ / "stdout";  // as /dev/stdout, with the output in a file
  std::filesystem::create_symlink("output", options_.hgrm);
  EXPECT_EQ(write(), 0) << err_;
  EXPECT_EQ(names(), (Names{"output", "stdout"}));
  EXPECT_NE(text("output").find("Total count    =            3]"), std::string::npos);
}

TEST_F(LoadFiles, AreNamedWhenTheyCannotBeWritten) {
  options_.hgrm = directory_ / "none" / "out.hgrm";
  EXPECT_EQ(write(), 1);
  EXPECT_NE(err_.find("error: cannot write " + options_.hgrm + ";"), std::string::npos) << err_;
  EXPECT_NE(err_.find("--hgrm"), std::string::npos) << err_;
  options_.hgrm = directory_ / "out.hgrm";
  std::filesystem::create_directory(directory_ / "out.round-002.hgrm");
  EXPECT_EQ(write(), 1);
  EXPECT_NE(err_.find("out.round-002.hgrm;"), std::string::npos) << err_;
  options_.rounds = 1;
  options_.html = "/dev/full";
  EXPECT_EQ(write(), 1);
  EXPECT_NE(err_.find("error: cannot write /dev/full;"), std::string::npos) << err_;
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// A directory with files in the format of /proc and /sys: a simulated machine.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace pawl {

class FakeRoot {
 public:
  FakeRoot() {
    std::string path = std::filesystem::temp_directory_path() / "pawl-machine-test-XXXXXX";
    EXPECT_NE(mkdtemp(path.data()), nullptr);
    path_ = path;
  }
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;
  ~FakeRoot() { std::filesystem::remove_all(path_); }
  FakeRoot& with(const std::string& name, const std::string& text) {
    const std::filesystem::path file = path_ + name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return *this;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// The files that a running server needs, from its settings.
#include "net/server/file_access.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace pawl {
namespace {

namespace fs = std::filesystem;

class FileAccessTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string made = "/tmp/pawl-access-XXXXXX";
    ASSERT_NE(::mkdtemp(made.data()), nullptr);
    place_ = fs::canonical(made).string();
  }
  void TearDown() override { fs::remove_all(place_); }

  std::string at(const std::string& name) const { return place_ + "/" + name; }
  void file(const std::string& name) const {
    fs::create_directories(fs::path(at(name)).parent_path());
    std::ofstream(at(name)) << name;
  }
  void link(const std::string& target, const std::string& name) const {
    fs::create_directories(fs::path(at(name)).parent_path());
    fs::create_symlink(target, at(name));
  }
  using Names = std::vector<std::string>;
  Names way_to(const std::string& name) const {
    Names found = directories_on_the_way(at(name));
    std::ranges::sort(found);
    return found;
  }

  std::string place_;
};

TEST_F(FileAccessTest, APlainFileNeedsItsDirectory) {
  file("etc/keys.toml");
  EXPECT_EQ(way_to("etc/keys.toml"), Names{at("etc")});
  EXPECT_EQ(way_to("etc/./../etc//keys.toml"), Names{at("etc")});
  EXPECT_EQ(way_to("none/keys.toml"), Names{at("none")}) << "and need not exist yet";
  EXPECT_EQ(directories_on_the_way("/keys.toml"), Names{"/"});
}

TEST_F(FileAccessTest, LinksOfARenewalAreFollowed) {
  file("archive/name/key1.pem");
  link("../../archive/name/key1.pem", "live/name/key.pem");
  EXPECT_EQ(way_to("live/name/key.pem"), (Names{at("archive/name"), at("live/name")}))
      << "as certbot makes them";
  file("secret/..2026/tls.crt");
  link("..2026", "secret/..data");
  link("..data/tls.crt", "secret/tls.crt");
  EXPECT_EQ(way_to("secret/tls.crt"), (Names{at("secret"), at("secret/..2026")}))
      << "as Kubernetes makes them";
  file("versions/1/key.pem");
  link(at("versions/1"), "current");
  EXPECT_EQ(way_to("current/key.pem"), (Names{place_, at("versions/1")}));
}

TEST_F(FileAccessTest, LinksOfTheSystemOpenNoDirectoryOfRoot) {
  file("keys.toml");
  link("/tmp", "out");  // /tmp/... is near the root, place_ is not
  fs::create_symlink(place_, "/tmp/pawl-near-" + std::to_string(::getpid()));
  const std::string near = "/tmp/pawl-near-" + std::to_string(::getpid());
  EXPECT_EQ(directories_on_the_way(near + "/keys.toml"), Names{place_})
      << "a link in /tmp is not followed when it changes";
  fs::remove(near);
}

TEST_F(FileAccessTest, ACircleOfLinksEnds) {
  link("b", "a");
  link("a", "b");
  EXPECT_EQ(way_to("a"), Names{place_});
}

TEST_F(FileAccessTest, RulesFollowTheSettings) {
  ServerOptions options;
  options.data = at("data");
  fs::create_directories(at("data/s00"));
  link(at("disk/s01"), "data/s01");
  fs::create_directories(at("disk/s01"));
  file("keys/keys.toml");
  const auto rights_of = [&](const std::string& path) {
    std::uint64_t rights = 0;
    for (const FileRule& rule : file_rules(options))
      if (rule.path == path) rights |= rule.rights;
    return rights;
  };
  EXPECT_EQ(rights_of(at("data")), FileRights::write);
  EXPECT_EQ(rights_of(at("data/s00")), 0) << "a part of the directory";
  EXPECT_EQ(rights_of(at("data/s01")), FileRights::write) << "on another disk";
  EXPECT_EQ(rights_of(at("data/s01/..")), FileRights::read_dir) << "its name is flushed";
  EXPECT_EQ(rights_of(place_), 0);
  EXPECT_EQ(rights_of("/proc"), FileRights::read);
  for (const FileRule& rule : file_rules(options))
    EXPECT_TRUE(rule.path.starts_with(place_) || rule.may_be_absent) << rule.path;

  options.deletes_data = true;
  EXPECT_EQ(rights_of(place_), FileRights::remove_dir);
  options.unix_path = at("run/pawl.sock");
  EXPECT_EQ(rights_of(at("run")), FileRights::make_socket | FileRights::remove_file);
  options.config_file = at("pawl.toml");
  EXPECT_EQ(rights_of(place_), FileRights::remove_dir | FileRights::read);
  options.keys_file = at("keys/keys.toml");
  EXPECT_EQ(rights_of(at("keys")), FileRights::read);
  options.tls_certificate = at("tls/cert.pem");
  options.tls_key = at("tls/private/key.pem");
  EXPECT_EQ(rights_of(at("tls")), FileRights::read);
  EXPECT_EQ(rights_of(at("tls/private")), FileRights::read);
}

TEST_F(FileAccessTest, WithoutTheSettingNothingIsLimited) {
  ServerOptions options;
  options.data = at("data");
  EXPECT_TRUE(limit_server_files(options));
  file("still/writable");
  EXPECT_TRUE(fs::exists(at("still/writable")));
}

}  // namespace
}  // namespace pawl

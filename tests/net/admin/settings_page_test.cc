// SPDX-License-Identifier: Apache-2.0
#include "net/admin/settings_page.h"

#include <gtest/gtest.h>

#include <vector>

namespace pawl {
namespace {

TEST(SettingsPage, ShowsTheTextOfTheServer) {
  AdminFacts facts;
  EXPECT_EQ(settings_page({}, facts).body, "[]\n");
  const ReloadableSettings settings({.tls = {},
                                     .keys = {},
                                     .admin_token = {},
                                     .told = std::make_shared<const std::string>("[1]\n")});
  facts.settings = &settings;
  const AdminAnswer answer = settings_page({}, facts);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "[1]\n");
  EXPECT_EQ(answer.content_type, "application/json");
}

TEST(SettingsPage, HasAnObjectForEachSetting) {
  EXPECT_EQ(settings_text({}), "[]\n");
  const std::vector<ToldSetting> settings = {
      {"server", "shards", "2",        "--shards"     },
      {"sqs",    "region", "eu\"west", "pawl.toml:1:2"},
  };
  EXPECT_EQ(settings_text(settings),
            R"([{"section":"server","key":"shards","value":"2","source":"--shards"},)"
            R"({"section":"sqs","key":"region","value":"eu\"west","source":"pawl.toml:1:2"}])"
            "\n");
}

TEST(SettingsPageDeathTest, NamesTheSettingWithoutSource) {
  const std::vector<ToldSetting> settings = {
      {"server", "shards", "2", ""},
  };
  EXPECT_DEATH(settings_text(settings), "server.shards has no source");
}

}  // namespace
}  // namespace pawl

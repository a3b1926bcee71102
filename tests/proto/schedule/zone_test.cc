// SPDX-License-Identifier: Apache-2.0
#include "proto/schedule/zone.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "proto/text/timestamp.h"

namespace pawl {
namespace {

Zone zone_named(const char* name) {
  auto zone = Zone::find(name);
  EXPECT_TRUE(zone) << (zone ? "" : zone.error());
  return zone ? *zone : Zone();
}

Instant utc_time(const char* text) {
  const auto time = parse_timestamp(text);
  EXPECT_TRUE(time) << text;
  return time.value_or(Instant{});
}

std::chrono::local_seconds local_time(const char* text) {
  return std::chrono::local_seconds(
      std::chrono::seconds(utc_time((std::string(text) + "Z").c_str()).ms / 1000));
}

// $TZDIR names another folder until the end of the test.
class ZoneFolder : public testing::Test {
 protected:
  ZoneFolder() {
    std::filesystem::create_directories(folder_);
    setenv("TZDIR", folder_.c_str(), 1);
  }
  ~ZoneFolder() override {
    unsetenv("TZDIR");
    std::filesystem::remove_all(folder_);
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("zones-" + std::to_string(getpid()));
};

TEST(Zone, HasTheOffsetOfEachInstant) {
  const struct {
    const char* zone;
    const char* time;
    int minutes;
  } cases[] = {
      {"UTC",                 "2026-07-01T00:00:00Z", 0   },
      {"Europe/Berlin",       "2026-01-01T00:00:00Z", 60  },
      {"Europe/Berlin",       "2026-07-01T00:00:00Z", 120 },
      {"Europe/Dublin",       "2026-01-01T00:00:00Z", 0   }, // its winter is the exception
      {"Europe/Dublin",       "2026-07-01T00:00:00Z", 60  },
      {"Australia/Lord_Howe", "2026-01-01T00:00:00Z", 660 },
      {"Australia/Lord_Howe", "2026-07-01T00:00:00Z", 630 },
      {"Antarctica/Troll",    "2026-01-01T00:00:00Z", 0   },
      {"Antarctica/Troll",    "2026-07-01T00:00:00Z", 120 },
      {"Asia/Kathmandu",      "2026-07-01T00:00:00Z", 345 },
      {"Asia/Tokyo",          "2026-07-01T00:00:00Z", 540 },
      {"America/Sao_Paulo",   "2018-12-01T00:00:00Z", -120},
      {"America/Sao_Paulo",   "2026-12-01T00:00:00Z", -180},
      {"Etc/GMT+12",          "2026-12-01T00:00:00Z", -720},
      {"Pacific/Kiritimati",  "2026-12-01T00:00:00Z", 840 },
      // behind the last transition that a file lists
      {"America/New_York",    "2037-12-01T00:00:00Z", -300},
      {"America/New_York",    "2038-07-01T00:00:00Z", -240},
      {"Europe/Berlin",       "2199-07-01T00:00:00Z", 120 },
      {"Europe/Berlin",       "2199-12-01T00:00:00Z", 60  },
      {"Europe/Dublin",       "2150-07-01T00:00:00Z", 60  },
      {"Australia/Lord_Howe", "2150-01-01T00:00:00Z", 660 },
      {"Antarctica/Troll",    "2150-07-01T00:00:00Z", 120 },
      {"Africa/Cairo",        "2150-07-01T00:00:00Z", 180 },
  };
  for (const auto& [name, time, minutes] : cases) {
    const Zone zone = zone_named(name);
    EXPECT_EQ(zone.name(), name);
    EXPECT_EQ(zone.offset(utc_time(time)), std::chrono::minutes(minutes)) << name << " " << time;
    EXPECT_EQ(zone.local(utc_time(time)).time_since_epoch(),
              std::chrono::milliseconds(utc_time(time).ms) + std::chrono::minutes(minutes));
  }
}

TEST(Zone, HasOneInstantForEachLocalTime) {
  const struct {
    const char* zone;
    const char* local;
    const char* instant;
    bool exists;
  } cases[] = {
      {"Europe/Berlin",       "2026-03-29T01:59:59", "2026-03-29T00:59:59Z", true },
      {"Europe/Berlin",       "2026-03-29T02:00:00", "2026-03-29T01:00:00Z", false},
      {"Europe/Berlin",       "2026-03-29T02:59:59", "2026-03-29T01:00:00Z", false},
      {"Europe/Berlin",       "2026-03-29T03:00:00", "2026-03-29T01:00:00Z", true },
      {"Europe/Berlin",       "2026-10-25T02:00:00", "2026-10-25T00:00:00Z", true }, // the first
      {"Europe/Berlin",       "2026-10-25T02:59:59", "2026-10-25T00:59:59Z", true },
      {"Europe/Berlin",       "2026-10-25T03:00:00", "2026-10-25T02:00:00Z", true },
      // at midnight
      {"America/Sao_Paulo",   "2018-11-03T23:59:59", "2018-11-04T02:59:59Z", true },
      {"America/Sao_Paulo",   "2018-11-04T00:00:00", "2018-11-04T03:00:00Z", false},
      {"America/Sao_Paulo",   "2018-11-04T01:00:00", "2018-11-04T03:00:00Z", true },
      {"Africa/Cairo",        "2026-04-24T00:30:00", "2026-04-23T22:00:00Z", false},
      {"Africa/Cairo",        "2026-10-29T23:30:00", "2026-10-29T20:30:00Z", true },
      // half an hour
      {"Australia/Lord_Howe", "2026-10-04T02:15:00", "2026-10-03T15:30:00Z", false},
      {"Australia/Lord_Howe", "2026-10-04T02:30:00", "2026-10-03T15:30:00Z", true },
      {"Australia/Lord_Howe", "2026-04-05T01:45:00", "2026-04-04T14:45:00Z", true },
      // two hours
      {"Antarctica/Troll",    "2026-03-29T02:59:00", "2026-03-29T01:00:00Z", false},
      {"Antarctica/Troll",    "2026-10-25T01:30:00", "2026-10-24T23:30:00Z", true },
      // a day that does not exist
      {"Pacific/Apia",        "2011-12-30T12:00:00", "2011-12-30T10:00:00Z", false},
      // long after the last transition that a file lists
      {"Europe/Berlin",       "2199-03-31T02:30:00", "2199-03-31T01:00:00Z", false},
      {"America/New_York",    "2040-11-04T01:30:00", "2040-11-04T05:30:00Z", true },
  };
  for (const auto& [name, local, instant, exists] : cases) {
    const auto moment = zone_named(name).moment(local_time(local));
    EXPECT_EQ(moment.instant.ms, utc_time(instant).ms) << name << " " << local;
    EXPECT_EQ(moment.exists, exists) << name << " " << local;
  }
}

TEST(Zone, IsUtcWithoutAName) {
  EXPECT_EQ(Zone().name(), "UTC");
  EXPECT_EQ(Zone().offset({0}).count(), 0);
}

TEST(Zone, IsRefusedWithTheNearestName) {
  const struct {
    std::string name;
    const char* text;
  } cases[] = {
      {"Europe/Berln", "the time zone \"Europe/Berln\" is not one of the "},
      {"Europe/Berln", "Did you mean \"Europe/Berlin\"?"},
      {"europe/berlin", "Did you mean \"Europe/Berlin\"?"},
      {"berlin", "Did you mean \"Europe/Berlin\"?"},
      {"New_York", "Did you mean \"America/New_York\"?"},
      {"CEST", "Did you mean \"CET\"?"},
      {"", "Write a name such as Europe/Berlin or UTC"},
      {"utc", "Did you mean \""},
      {"+01:00", "the time zone \"+01:00\" is not one"},
      {"Europe", "the time zone \"Europe\" is not one"},
      {"/etc/passwd", "the time zone \"/etc/passwd\" is not one"},
      {"/usr/share/zoneinfo/UTC", "is not one"},
      {"../zoneinfo/UTC", "is not one"},
      {"file:UTC", "is not one"},
      {"localtime", "is not one"},
      {"right/UTC", "is not one"},
      {"tzdata.zi", "is not one"},
      {"Fixed/UTC+01:00:00", "is not one"},
      {std::string("UTC\0", 4), "\"UTC?\""},
      {std::string(100, 'x'), "xxx\" is not one"},
  };
  for (const auto& [name, text] : cases) {
    const auto zone = Zone::find(name);
    ASSERT_FALSE(zone) << name;
    EXPECT_TRUE(zone.error().contains(text)) << zone.error();
    EXPECT_LT(zone.error().size(), 250U);
  }
}

TEST_F(ZoneFolder, CanBeMissing) {
  std::filesystem::remove_all(folder_);
  const auto zone = Zone::find("Europe/Berlin");
  ASSERT_FALSE(zone);
  EXPECT_EQ(zone.error(), "the time zone \"Europe/Berlin\" is not known: the folder " +
                              folder_.string() +
                              " has no zones. Install the package tzdata; without it there is UTC "
                              "alone.");
  EXPECT_TRUE(Zone::find("UTC"));
}

TEST_F(ZoneFolder, CanHaveADamagedFile) {
  std::ofstream(folder_ / "Torn") << "TZif2";
  std::ofstream(folder_ / "Other") << "no zone";
  EXPECT_TRUE(Zone::find("Torn").error().contains("Torn is damaged"));
  EXPECT_TRUE(Zone::find("Other").error().contains("is not one of the 1 in"));
}

}  // namespace
}  // namespace pawl

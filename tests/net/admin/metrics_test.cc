// SPDX-License-Identifier: Apache-2.0
// The admin port's metrics and health.
#include "net/admin/metrics.h"

#include <gtest/gtest.h>

#include <array>
#include <sstream>
#include <string>

namespace pawl {
namespace {

TEST(Metrics, AreOneTextForAllShards) {
  ShardNumbers numbers[2];
  numbers[0].sent = 7;
  numbers[1].sent = 8;
  numbers[1].index = 99;
  const std::array<const ShardNumbers*, 2> shards{&numbers[0], &numbers[1]};
  const std::string text = metrics_text(shards, "threads", true);
  EXPECT_NE(text.find("# TYPE pawl_shard_messages_sent_total counter\n"
                      "pawl_shard_messages_sent_total{shard=\"0\"} 7\n"
                      "pawl_shard_messages_sent_total{shard=\"1\"} 8\n"),
            std::string::npos);
  EXPECT_NE(text.find("\npawl_draining 1\n"), std::string::npos);
  EXPECT_NE(text.find("pawl_memory_bytes{shard=\"1\",kind=\"index\"} 99\n"), std::string::npos);
}

TEST(Metrics, SayWhereTheTimeOfTurnsGoes) {
  ShardNumbers numbers;
  numbers.phase_us[static_cast<std::size_t>(TurnPhase::log)] = 42;
  const std::array<const ShardNumbers*, 1> shards{&numbers};
  const std::string text = metrics_text(shards, "threads", true);
  EXPECT_TRUE(text.contains("pawl_turn_phase_seconds_total{shard=\"0\",phase=\"log\"} 4.2e-05\n"));
  EXPECT_TRUE(text.contains("{shard=\"0\",phase=\"kernel\"} 0\n")) << text;
}

TEST(Metrics, NameAndDescribeEachOnce) {
  const ShardNumbers numbers;
  const std::array<const ShardNumbers*, 1> shards{&numbers};
  std::istringstream lines(metrics_text(shards, "threads", true));
  std::string described, last;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# HELP ")) {
      described = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_GT(line.size(), 8 + described.size()) << "no text: " << line;
      EXPECT_NE(described, last);
      last = described;
    } else if (!line.starts_with('#')) {
      std::string name = line.substr(0, line.find_first_of("{ "));
      if (described == "pawl_flush_seconds") name = name.substr(0, name.rfind('_'));
      EXPECT_EQ(name, described);
    }
  }
}

TEST(Health, SaysWhatIsWrongAndWhere) {
  ShardNumbers numbers[2];
  const std::array<const ShardNumbers*, 2> shards{&numbers[0], &numbers[1]};
  EXPECT_EQ(health_text(shards), "ok\n");
  numbers[1].disk_full = 1;
  numbers[0].set_aside = 3;
  numbers[1].unreadable_segments = 2;
  const std::string text = health_text(shards);
  EXPECT_NE(text.find("shard 0: 3 messages are set aside"), std::string::npos) << text;
  EXPECT_NE(text.find("shard 1: 2 segments of the log cannot be read"), std::string::npos) << text;
  EXPECT_NE(text.find("pawl wal repair"), std::string::npos) << text;
  EXPECT_NE(text.find("shard 1: no space on the disk for another segment"), std::string::npos)
      << text;
}

}  // namespace
}  // namespace pawl

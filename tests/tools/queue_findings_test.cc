// SPDX-License-Identifier: Apache-2.0
#include "tools/queue_findings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace pawl {
namespace {

constexpr std::int64_t day = 86'400;

std::string arn(const std::string& name) { return "arn:aws:sqs:r:1:" + name; }

// A queue without a mistake, and its dead-letter queue.
std::vector<QueueReading> good() {
  QueueReading queue{.name = "q", .arn = arn("q")};
  queue.visibility_s = 30;
  queue.retention_s = 4 * day;
  queue.wait_s = 20;
  queue.dead_letter_arn = arn("dead");
  queue.max_receives = 5;
  queue.counted.emplace();
  QueueReading dead{.name = "dead", .arn = arn("dead")};
  dead.retention_s = 14 * day;
  dead.counted.emplace();
  return {queue, dead};
}

std::string text_of(const std::vector<QueueFinding>& found) {
  std::string text;
  for (const QueueFinding& finding : found)
    text += finding.queue + " " + std::string(finding.check) + ": " + finding.command + "\n";
  return text;
}

TEST(QueueFindings, FindsNothingInAGoodQueue) {
  EXPECT_EQ(text_of(findings_of(good(), "")), "");
  EXPECT_TRUE(findings_of({}, "").empty());
}

TEST(QueueFindings, ComparesTheVisibilityTimeoutWithTheHandling) {
  struct Case {
    const char* name;
    std::uint64_t leases, deleted, late;
    double p99;
    const char* command;
  };
  const Case cases[] = {
      {"as long",                100, 100, 0, 30,     ""                             },
      {"longer",                 100, 100, 0, 30.5,   "--set VisibilityTimeout=62"   },
      {"1 of 100 late",          99,  100, 1, 29,     ""                             },
      {"2 of 100 late",          98,  100, 2, 29,     "--set VisibilityTimeout=60"   },
      {"late before the change", 98,  100, 2, 15,     ""                             },
      {"all late",               0,   1,   1, 0,      "--set VisibilityTimeout=60"   },
      {"for hours",              100, 100, 0, 40'000, "--set VisibilityTimeout=43200"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    std::vector<QueueReading> readings = good();
    readings[0].counted->leases = c.leases;
    readings[0].counted->deleted = c.deleted;
    readings[0].counted->deleted_late = c.late;
    readings[0].counted->lease_p99_s = c.p99;
    const std::string wanted =
        *c.command == 0 ? ""
                        : "q short-visibility: pawl queue set q " + std::string(c.command) + "\n";
    EXPECT_EQ(text_of(findings_of(readings, "")), wanted);
  }
}

TEST(QueueFindings, FindsOldMessages) {
  std::vector<QueueReading> readings = good();
  readings[0].counted->oldest_s = 2.0 * day;
  EXPECT_EQ(text_of(findings_of(readings, "")), "");
  readings[0].counted->oldest_s = 2.0 * day + 1;
  EXPECT_EQ(text_of(findings_of(readings, "")),
            "q near-expiry: pawl queue set q --set MessageRetentionPeriod=691204\n");
  readings = good();
  readings[1].counted->oldest_s = 8.0 * day;
  EXPECT_EQ(text_of(findings_of(readings, " --url http://x")),
            "dead near-expiry: pawl dlq redrive dead --url http://x\n");
}

TEST(QueueFindings, FindsMistakesWithDeadLetterQueues) {
  std::vector<QueueReading> readings = good();
  readings[0].max_receives = 2;
  EXPECT_EQ(text_of(findings_of(readings, "")),
            "q few-receives: pawl queue set q --dead-letters dead --max-receives 5\n");
  readings[0].arn = "arn:aws:sqs:r:2:q";  // of another account
  EXPECT_EQ(
      text_of(findings_of(readings, "")),
      "q few-receives: pawl queue set q --set "
      "'RedrivePolicy={\"deadLetterTargetArn\":\"arn:aws:sqs:r:1:dead\",\"maxReceiveCount\":5}'\n");
  readings = good();
  readings[1].retention_s = 4 * day;
  EXPECT_EQ(text_of(findings_of(readings, "")),
            "q short-dead-letter-retention: pawl queue set dead --set "
            "MessageRetentionPeriod=1209600\n");
  readings[1].retains_from_move = true;
  EXPECT_EQ(text_of(findings_of(readings, "")), "");
  readings[1].retains_from_move = false;
  readings[0].retention_s = readings[1].retention_s = 14 * day;
  EXPECT_EQ(
      text_of(findings_of(readings, "")),
      "q short-dead-letter-retention: pawl queue set q --set MessageRetentionPeriod=864000\n");
  readings.pop_back();
  EXPECT_EQ(text_of(findings_of(readings, "")), "") << "the dead-letter queue is not listed";
  readings = good();
  readings[1].dead_letter_arn = arn("more");
  readings[1].max_receives = 3;
  EXPECT_EQ(text_of(findings_of(readings, "")),
            "dead chained-dead-letters: pawl queue set dead --set RedrivePolicy=\n");
}

TEST(QueueFindings, NamesANewDeadLetterQueue) {
  std::vector<QueueReading> readings = good();
  readings[0].dead_letter_arn.clear();
  readings[1].wait_s = 1;
  readings[1].dead_letter_arn = arn("elsewhere");
  readings[1].max_receives = 3;
  EXPECT_EQ(text_of(findings_of(readings, " --url u")),
            "q no-dead-letter-queue: pawl queue create q-dead --set MessageRetentionPeriod=1209600 "
            "--url u && pawl queue set q --dead-letters q-dead --url u\n");
  readings[1].name = "q-dead";
  EXPECT_EQ(text_of(findings_of(readings, "")),
            "q no-dead-letter-queue: pawl queue set q --dead-letters q-dead\n");
  readings[0].name = std::string(75, 'q') + ".fifo";
  readings[0].fifo = true;
  EXPECT_EQ(text_of(findings_of(readings, "")), readings[0].name + " no-dead-letter-queue: \n")
      << "a name has 80 characters at most";
}

TEST(QueueFindings, KnowsItsChecks) {
  EXPECT_EQ(queue_checks().size(), 7u);
  EXPECT_EQ(checks_of_figures().size(), 2u);
  std::vector<QueueReading> readings = good();
  readings[0].counted.reset();
  readings[0].wait_s = 0;
  EXPECT_EQ(text_of(findings_of(readings, "")),
            "q short-polls: pawl queue set q --set ReceiveMessageWaitTimeSeconds=20\n");
}

TEST(QueueFindings, QuotesWordsForAShell) {
  EXPECT_EQ(shell_word("http://127.0.0.1:1/a-b_c"), "http://127.0.0.1:1/a-b_c");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's $x"), "'it'\\''s $x'");
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/declared/declared_schedule.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/text/json_dom.h"

namespace pawl {
namespace {

constexpr const char* queue_q = "arn:aws:sqs:us-east-1:000000000000:q";

DeclaredRow schedule_row(const std::vector<std::pair<std::string, std::string>>& more = {}) {
  DeclaredRow row;
  row.kind = DeclaredKind::schedule;
  row.where = "f:1:1";
  row.account = "000000000000";
  row.name = "s";
  row.group = "default";
  row.attributes = {
      {"expression", "rate(1 hour)", "f:2:1"},
      {"queue",      queue_q,        "f:3:1"}
  };
  for (const auto& [key, value] : more) {
    std::erase_if(row.attributes, [&](const auto& one) { return one.key == key; });
    if (!value.empty()) row.attributes.push_back({key, value, "f:4:1"});
  }
  return row;
}

TEST(DeclaredSchedule, HasTheDefaultsOfThePage) {
  const auto made = declared_schedule(schedule_row(), nullptr);
  ASSERT_TRUE(made) << made.error().why;
  EXPECT_EQ(made->timing.expression, "rate(1 hour)");
  EXPECT_EQ(made->timing.zone, "UTC");
  EXPECT_TRUE(made->timing.enabled);
  EXPECT_EQ(made->timing.nonexistent, NonexistentTime::next);
  EXPECT_EQ(made->catch_up, CatchUp::last);
  EXPECT_FALSE(made->skips_overlap);
  EXPECT_EQ(made->target.arn, queue_q);
  EXPECT_EQ(made->target.role, declared_role);
}

TEST(DeclaredSchedule, HasEveryKey) {
  const auto made = declared_schedule(schedule_row({
                                          {"expression",              "cron(0 9 ? * 2 *)"           },
                                          {"zone",                    "UTC"                         },
                                          {"queue",                   std::string(queue_q) + ".fifo"},
                                          {"input",                   "hello"                       },
                                          {"message-group",           "m"                           },
                                          {"dead-letter-queue",       queue_q                       },
                                          {"description",             "text"                        },
                                          {"start",                   "2027-01-01T01:00:00+01:00"   },
                                          {"end",                     "2027-02-01T00:00:00Z"        },
                                          {"catch-up",                "all"                         },
                                          {"overlap",                 "skip"                        },
                                          {"nonexistent",             "skip"                        },
                                          {"enabled",                 "false"                       },
                                          {"delete-after-completion", "true"                        },
  }),
                                      nullptr);
  ASSERT_TRUE(made) << made.error().why;
  EXPECT_EQ(made->target.arn, std::string(queue_q) + ".fifo");
  EXPECT_EQ(made->target.input, "hello");
  EXPECT_EQ(made->target.group, "m");
  EXPECT_EQ(made->target.dead_letter_arn, queue_q);
  EXPECT_EQ(made->description, "text");
  EXPECT_EQ(made->timing.start, Instant{1'798'761'600'000});
  EXPECT_EQ(made->timing.end, Instant{1'801'440'000'000});
  EXPECT_EQ(made->catch_up, CatchUp::all);
  EXPECT_TRUE(made->skips_overlap);
  EXPECT_EQ(made->timing.nonexistent, NonexistentTime::skip);
  EXPECT_FALSE(made->timing.enabled);
  EXPECT_TRUE(made->ends_deleted);
}

TEST(DeclaredSchedule, FaultsHaveThePlaceOfTheirKeyAndTheAllowedValues) {
  struct Case {
    const char *key, *value, *where, *part;
  };
  const Case cases[] = {
      {"expression",              "rate(1)",                                   "f:4:1", "expression = rate(1) of schedule s: "},
      {"zone",                    "Mars/Base",                                 "f:4:1", "zone = Mars/Base of schedule s: "    },
      {"start",                   "noon",                                      "f:4:1", "a time as \"2026-12-24T18:00:00Z\""  },
      {"end",                     "2027-13-01T00:00:00Z",                      "f:4:1", "it is no time"                       },
      {"catch-up",                "some",                                      "f:4:1", "Allowed: none, last, all."           },
      {"overlap",                 "no",                                        "f:4:1", "Allowed: allow, skip."               },
      {"nonexistent",             "no",                                        "f:4:1", "Allowed: next, skip."                },
      {"enabled",                 "yes",                                       "f:4:1", "neither true nor false"              },
      {"delete-after-completion", "1",                                         "f:4:1", "neither true nor false"              },
      {"topic",                   "arn:aws:sns:us-east-1:000000000000:t",      "f:1:1", "not both"                            },
      {"queue",                   "",                                          "f:1:1", "needs one target"                    },
      {"queue",                   "arn:aws:sqs:us-east-1:000000000000:q.fifo", "f:1:1", "has no message-group"                },
      {"queue",                   "arn:aws:sqs:us-east-1:111111111111:q",      "f:1:1", "of this server and account"          },
      {"message-group",           "a b",                                       "f:1:1", "without spaces"                      },
      {"dead-letter-queue",       "arn:aws:sqs:us-east-1:000000000000:d.fifo", "f:1:1",
       "at 'target.deadLetterConfig.arn' failed"                                                                              },
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.key) + " = " + c.value);
    const auto made = declared_schedule(schedule_row({
                                            {c.key, c.value}
    }),
                                        nullptr);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().where, c.where);
    EXPECT_NE(made.error().why.find(c.part), std::string::npos) << made.error().why;
  }
  const auto long_text = declared_schedule(schedule_row({
                                               {"description", std::string(513, 'x')}
  }),
                                           nullptr);
  ASSERT_FALSE(long_text);
  EXPECT_NE(long_text.error().why.find("'description'"), std::string::npos);
}

TEST(DeclaredSchedule, AnExistingOneKeepsItsPauseItsWindowAndItsRole) {
  Schedule existing;
  existing.timing.expression = "rate(9 days)";
  existing.timing.enabled = false;
  existing.timing.flexible = true;
  existing.timing.window_minutes = 15;
  existing.target.role = "arn:aws:iam::000000000000:role/mine";
  existing.target.attempts = 3;
  existing.description = "old";
  existing.catch_up = CatchUp::all;
  const auto made = declared_schedule(schedule_row(), &existing);
  ASSERT_TRUE(made) << made.error().why;
  EXPECT_FALSE(made->timing.enabled);
  EXPECT_EQ(made->timing.window_minutes, 15);
  EXPECT_EQ(made->target.role, existing.target.role);
  EXPECT_EQ(made->target.attempts, 3);
  EXPECT_EQ(made->description, "") << "the table is the whole definition";
  EXPECT_EQ(made->catch_up, CatchUp::last);
  const auto resumed = declared_schedule(schedule_row({
                                             {"enabled", "true"}
  }),
                                         &existing);
  EXPECT_TRUE(resumed->timing.enabled);
}

TEST(DeclaredSchedule, ARequestSaysTheSameSchedule) {
  const auto made = declared_schedule(schedule_row({
                                          {"input",    "a \"b\""},
                                          {"catch-up", "none"   }
  }),
                                      nullptr);
  ASSERT_TRUE(made);
  JsonDom dom;
  const std::string body = schedule_request("g", *made);
  const auto document = dom.parse(body);
  ASSERT_TRUE(document) << body;
  EXPECT_EQ(document->member("GroupName")->text(), "g");
  Schedule read;
  std::string why;
  EXPECT_TRUE(read.read(*document, why)) << why;
  EXPECT_TRUE(read.same_request(*made));
}

}  // namespace
}  // namespace pawl

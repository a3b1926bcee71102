// SPDX-License-Identifier: Apache-2.0
#include "proto/schedule/expression.h"

#include <gtest/gtest.h>

#include <string>

namespace pawl {
namespace {

TEST(ScheduleExpression, ReadsOneTime) {
  const auto parsed = parse_schedule("at(2026-12-01T09:00:30)");
  ASSERT_TRUE(parsed);
  ASSERT_TRUE(std::holds_alternative<OneTime>(*parsed));
  EXPECT_EQ(std::get<OneTime>(*parsed).at.time_since_epoch().count(), 1'796'115'630);
  EXPECT_TRUE(parse_schedule("at(1970-01-01T00:00:00)"));
  EXPECT_TRUE(parse_schedule("at(2199-12-31T23:59:59)"));
}

TEST(ScheduleExpression, ReadsRates) {
  const struct {
    const char* text;
    std::int64_t seconds;
  } cases[] = {
      {"rate(1 minute)",         60           },
      {"rate(5 minutes)",        300          },
      {"rate(1 hour)",           3'600        },
      {"rate(12 hours)",         43'200       },
      {"rate(1 day)",            86'400       },
      {"rate(7 days)",           604'800      },
      {"rate(2  days)",          172'800      },
      {"rate(36500 days)",       3'153'600'000},
      {"rate(876000 hours)",     3'153'600'000},
      {"rate(52560000 minutes)", 3'153'600'000},
  };
  for (const auto& [text, length] : cases) {
    const auto parsed = parse_schedule(text);
    ASSERT_TRUE(parsed) << text << ": " << parsed.error();
    ASSERT_TRUE(std::holds_alternative<FireRate>(*parsed)) << text;
    EXPECT_EQ(std::get<FireRate>(*parsed).every, seconds(length)) << text;
  }
}

TEST(ScheduleExpression, ReadsCron) {
  const auto parsed = parse_schedule("cron(0 9 ? * MON-FRI *)");
  ASSERT_TRUE(parsed);
  ASSERT_TRUE(std::holds_alternative<CronFields>(*parsed));
  EXPECT_EQ(std::get<CronFields>(*parsed).weekdays, 0b01111100U);
}

TEST(ScheduleExpression, IsRefusedWithItsValueAndTheAllowedOnes) {
  const struct {
    const char* text;
    const char* error;
  } cases[] = {
      {"",                                "the schedule expression is \"\". It takes at("             },
      {"0 9 * * *",                       "\"0 9 * * *\". It takes at("                               },
      {"cron(0 9 * * ? *",                "cron(0 9 * * ? *)"                                         },
      {"cron",                            "It takes at("                                              },
      {"Rate(5 minutes)",                 "It takes at("                                              },
      {" rate(5 minutes)",                "It takes at("                                              },
      {"every(5 minutes)",                "\"every(5 minutes)\""                                      },
      {"at()",                            "the time of at is \"\""                                    },
      {"at(2026-12-01)",                  "the time of at is \"2026-12-01\". Write a day and a time"  },
      {"at(2026-12-01T09:00)",            "at(2026-12-01T09:00:00)"                                   },
      {"at(2026-12-01T09:00:00Z)",        "without an offset"                                         },
      {"at(2026-12-01T09:00:00+01:00)",   "without an offset"                                         },
      {"at(2026-02-29T09:00:00)",         "\"2026-02-29T09:00:00\""                                   },
      {"at(2026-12-01T24:00:00)",         "\"2026-12-01T24:00:00\""                                   },
      {"at(1969-12-31T23:59:59)",         "the year of at is 1969. It takes 1970 to 2199"             },
      {"at(2200-01-01T00:00:00)",         "the year of at is 2200"                                    },
      {"rate()",                          "the value of rate is \"\""                                 },
      {"rate(5)",                         "the unit of rate is \"\". It takes minute, minutes"        },
      {"rate(five minutes)",              "the value of rate is \"five\""                             },
      {"rate(0 minutes)",                 "the value of rate is \"0\""                                },
      {"rate(-1 minutes)",                "the value of rate is \"-1\""                               },
      {"rate(1.5 hours)",                 "the value of rate is \"1.5\""                              },
      {"rate(99999999999999999999 days)", "the value of rate is \"99999999999999999999\""             },
      {"rate(1 minutes)",                 "the unit of rate is \"minutes\". Write rate(1 minute)"     },
      {"rate(5 minute)",                  "Write rate(5 minutes)"                                     },
      {"rate(5 seconds)",                 "the unit of rate is \"seconds\""                           },
      {"rate(5 Minutes)",                 "the unit of rate is \"Minutes\""                           },
      {"rate(5 minutes )",                "the unit of rate is \"minutes \""                          },
      {"rate(36501 days)",                "the value of rate is 36501 days. It takes up to 36500 days"},
      {"cron(0 25 * * ? *)",              "the hour of cron is \"25\""                                },
  };
  for (const auto& [text, error] : cases) {
    const auto parsed = parse_schedule(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_TRUE(parsed.error().contains(error)) << text << ": " << parsed.error();
  }
}

TEST(ScheduleExpression, HasALimit) {
  std::string list = "cron(0";
  while (list.size() + 2 + 11 <= expression_max) list += ",5";
  list += " 9 * * ? *)";
  list.insert(list.find(' '), expression_max - list.size(), ' ');
  ASSERT_EQ(list.size(), expression_max);
  EXPECT_TRUE(parse_schedule(list));
  list.insert(list.find(' '), " ");
  const auto parsed = parse_schedule(list);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error(), "the schedule expression has 257 characters. It takes up to 256");
}

TEST(ScheduleExpression, IsRepeatedAsPrintableText) {
  const auto parsed = parse_schedule("cron(\x01\xff 9 * * ? *)");
  ASSERT_FALSE(parsed);
  EXPECT_TRUE(parsed.error().contains("the minute of cron is \"??\"")) << parsed.error();
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/schedule/cron.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pawl {
namespace {

using std::chrono::year;
using std::chrono::year_month;

LocalMinutes local_minutes(int years, unsigned month, unsigned day, int hour = 0, int minute = 0) {
  return std::chrono::local_days(year(years) / std::chrono::month(month) / std::chrono::day(day)) +
         std::chrono::hours(hour) + std::chrono::minutes(minute);
}

std::string text_of(LocalMinutes time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const auto minutes = (time - day).count();
  char text[32];
  snprintf(text, sizeof text, "%d-%02u-%02u %02d:%02d", int{date.year()}, unsigned{date.month()},
           unsigned{date.day()}, static_cast<int>(minutes / 60), static_cast<int>(minutes % 60));
  return text;
}

// The first `count` times from the begin of a year on.
std::vector<std::string> times_of(const char* fields, int from_year, std::size_t count) {
  const auto cron = parse_cron(fields);
  EXPECT_TRUE(cron) << fields << ": " << (cron ? "" : cron.error());
  std::vector<std::string> found;
  if (!cron) return found;
  auto from = local_minutes(from_year, 1, 1);
  while (found.size() < count) {
    const auto time = cron->next(from);
    if (!time) break;
    found.push_back(text_of(*time));
    from = *time + std::chrono::minutes(1);
  }
  return found;
}

std::vector<unsigned> days_in(const char* day_of_month, const char* day_of_week, int of_year,
                              unsigned month) {
  const auto cron = parse_cron(std::string("0 0 ") + day_of_month + " * " + day_of_week + " *");
  EXPECT_TRUE(cron) << day_of_month << " " << day_of_week;
  std::vector<unsigned> found;
  const std::uint32_t days =
      cron ? cron->days_of(year_month(year(of_year), std::chrono::month(month))) : 0;
  for (unsigned day = 0; day < 32; ++day)
    if ((days >> day & 1) != 0) found.push_back(day);
  return found;
}

TEST(CronFields, NameTimesAsTheExamplesOfAwsSay) {
  using Times = std::vector<std::string>;
  const struct {
    const char* fields;
    Times times;  // from the begin of 2026, a Thursday
  } cases[] = {
      {"0 10 * * ? *",            {"2026-01-01 10:00", "2026-01-02 10:00"}                    },
      {"15 12 * * ? *",           {"2026-01-01 12:15", "2026-01-02 12:15"}                    },
      {"0 18 ? * MON-FRI *",      {"2026-01-01 18:00", "2026-01-02 18:00", "2026-01-05 18:00"}},
      {"0 8 1 * ? *",             {"2026-01-01 08:00", "2026-02-01 08:00"}                    },
      {"0/15 * * * ? *",          {"2026-01-01 00:00", "2026-01-01 00:15", "2026-01-01 00:30"}},
      {"0/10 * ? * MON-FRI *",    {"2026-01-01 00:00", "2026-01-01 00:10"}                    },
      {"0/5 8-17 ? * MON-FRI *",  {"2026-01-01 08:00", "2026-01-01 08:05"}                    },
      {"1/10 * * * ? *",          {"2026-01-01 00:01", "2026-01-01 00:11", "2026-01-01 00:21"}},
      {"30 0/2 ? * 2#1 *",        {"2026-01-05 00:30", "2026-01-05 02:30"}                    },
      {"0 9 ? * 3#2 *",           {"2026-01-13 09:00", "2026-02-10 09:00"}                    },
      {"15 10 ? * 6L 2026-2027",  {"2026-01-30 10:15", "2026-02-27 10:15"}                    },
      {"0 9 L * ? *",             {"2026-01-31 09:00", "2026-02-28 09:00", "2026-03-31 09:00"}},
      {"0 9 3W * ? *",            {"2026-01-02 09:00", "2026-02-03 09:00", "2026-03-03 09:00"}},
      {"0 0 1 JAN,JUL ? 2027/10", {"2027-01-01 00:00", "2027-07-01 00:00", "2037-01-01 00:00"}},
      {"0 22-1/2 1 1 ? 2030",     {"2030-01-01 00:00", "2030-01-01 22:00"}                    },
      {"59 23 31 12 ? 2199",      {"2199-12-31 23:59"}                                        },
      {" 0\t9  1 1 ? 2030 ",      {"2030-01-01 09:00"}                                        },
      {"00 09 01 01 ? 2030",      {"2030-01-01 09:00"}                                        },
      {"0 9 ? jan mon 2030",      {"2030-01-07 09:00", "2030-01-14 09:00"}                    },
  };
  for (const auto& [fields, times] : cases)
    EXPECT_EQ(times_of(fields, 2026, times.size()), times) << fields;
}

// 1 August 2026 is a Saturday, 1 February and 31 May are Sundays.
TEST(CronFields, HaveTheDaysOfEachMonth) {
  using Days = std::vector<unsigned>;
  const struct {
    const char* day_of_month;
    const char* day_of_week;
    int year;
    unsigned month;
    Days days;
  } cases[] = {
      {"31",     "?",       2026, 4,  {}                                               },
      {"29",     "?",       2024, 2,  {29}                                             },
      {"29",     "?",       2026, 2,  {}                                               },
      {"29",     "?",       2100, 2,  {}                                               },
      {"L",      "?",       2024, 2,  {29}                                             },
      {"L-3",    "?",       2026, 1,  {28}                                             },
      {"L-30",   "?",       2026, 1,  {1}                                              },
      {"L-30",   "?",       2026, 4,  {}                                               },
      {"1,L",    "?",       2026, 4,  {1, 30}                                          },
      {"1W",     "?",       2026, 8,  {3}                                              },
      {"1W",     "?",       2026, 2,  {2}                                              },
      {"15W",    "?",       2026, 8,  {14}                                             },
      {"16W",    "?",       2026, 8,  {17}                                             },
      {"31W",    "?",       2026, 5,  {29}                                             },
      {"31W",    "?",       2026, 2,  {}                                               },
      {"LW",     "?",       2026, 5,  {29}                                             },
      {"LW",     "?",       2026, 10, {30}                                             },
      {"LW",     "?",       2026, 9,  {30}                                             },
      {"lw",     "?",       2026, 9,  {30}                                             },
      {"28-2",   "?",       2026, 4,  {1, 2, 28, 29, 30}                               },
      {"*/10",   "?",       2026, 1,  {1, 11, 21, 31}                                  },
      {"2/10",   "?",       2026, 1,  {2, 12, 22}                                      },
      {"1-10/4", "?",       2026, 1,  {1, 5, 9}                                        },
      {"?",      "L",       2026, 1,  {3, 10, 17, 24, 31}                              },
      {"?",      "7L",      2026, 1,  {31}                                             },
      {"?",      "FRIL",    2026, 1,  {30}                                             },
      {"?",      "1L,2L",   2026, 1,  {25, 26}                                         },
      {"?",      "SUN#5",   2026, 1,  {}                                               },
      {"?",      "5#5",     2026, 1,  {29}                                             },
      {"?",      "SAT-MON", 2026, 1,  {3, 4, 5, 10, 11, 12, 17, 18, 19, 24, 25, 26, 31}},
      {"?",      "1/3",     2026, 1,  {3, 4, 7, 10, 11, 14, 17, 18, 21, 24, 25, 28, 31}},
      {"?",      "2,4-5",   2026, 2,  {2, 4, 5, 9, 11, 12, 16, 18, 19, 23, 25, 26}     },
  };
  for (const auto& [day_of_month, day_of_week, of_year, month, days] : cases)
    EXPECT_EQ(days_in(day_of_month, day_of_week, of_year, month), days)
        << day_of_month << " " << day_of_week << " " << of_year << "-" << month;
}

TEST(CronFields, EndWithTheirYears) {
  EXPECT_EQ(times_of("0 0 30 2 ? *", 1970, 1).size(), 0U);
  EXPECT_EQ(times_of("0 0 31 2,4,6,9,11 ? *", 1970, 1).size(), 0U);
  EXPECT_EQ(times_of("0 0 29 2 ? 2026-2027", 1970, 1).size(), 0U);
  EXPECT_EQ(times_of("0 0 1 1 ? 2025", 2026, 1).size(), 0U);
  EXPECT_EQ(times_of("0 0 29 2 ? *", 1970, 300).size(), 56U);  // 2100 has none
  EXPECT_EQ(times_of("0 0 1 1 ? *", 0, 1), std::vector<std::string>{"1970-01-01 00:00"});
  EXPECT_EQ(times_of("* * * * ? *", 2200, 1).size(), 0U);
  EXPECT_EQ(times_of("* * * * ? *", 9000, 1).size(), 0U);
}

// Each minute of two years, against the definition of a match.
TEST(CronFields, HaveNoTimesBetweenTwo) {
  const auto cron = parse_cron("7-50/11 3,20-22 1,15W,L 2-12/3 ? 2024-2028/2");
  ASSERT_TRUE(cron);
  auto next = cron->next(local_minutes(2023, 1, 1));
  int found = 0;
  for (auto at = local_minutes(2023, 1, 1); at < local_minutes(2025, 1, 1);
       at += std::chrono::minutes(1)) {
    const auto day = std::chrono::floor<std::chrono::days>(at);
    const std::chrono::year_month_day date(day);
    const auto minute = (at - day).count();
    const int years = int{date.year()}, month = static_cast<int>(unsigned{date.month()});
    const bool named =
        years == 2024 && month % 3 == 2 &&
        (cron->days_of({date.year(), date.month()}) >> unsigned{date.day()} & 1) != 0 &&
        (minute / 60 == 3 || (minute / 60 >= 20 && minute / 60 <= 22)) &&
        (minute % 60 == 7 || minute % 60 == 18 || minute % 60 == 29 || minute % 60 == 40);
    if (!named) continue;
    ASSERT_EQ(text_of(*next), text_of(at));
    next = cron->next(at + std::chrono::minutes(1));
    ++found;
  }
  EXPECT_EQ(found, 4 * 3 * 16);
}

TEST(CronFields, AreRefusedWithTheirNamesAndValues) {
  const struct {
    const char* fields;
    const char* text;
  } cases[] = {
      {"",                    "\"\" has 0"                                                        },
      {"0 9 * * *",           "\"0 9 * * *\" has 5"                                               },
      {"0 9 * * ? * *",       "has 7"                                                             },
      {"60 9 * * ? *",        "the minute of cron is \"60\": \"60\" is not allowed. It takes 0-59"},
      {"-1 9 * * ? *",        "the minute of cron is \"-1\""                                      },
      {"? 9 * * ? *",         "the minute of cron is \"?\""                                       },
      {"001 9 * * ? *",       "the minute of cron is \"001\""                                     },
      {"0,,5 9 * * ? *",      "the minute of cron is \"0,,5\": \"\" is not allowed"               },
      {"0/0 9 * * ? *",       "the step behind / is a number from 1 to 60"                        },
      {"0/61 9 * * ? *",      "the step behind / is a number from 1 to 60"                        },
      {"0/ 9 * * ? *",        "the step behind /"                                                 },
      {"0/5/5 9 * * ? *",     "the step behind /"                                                 },
      {"*-5 9 * * ? *",       "\"*-5\" is not allowed"                                            },
      {"0-5-9 9 * * ? *",     "\"0-5-9\" is not allowed"                                          },
      {"** 9 * * ? *",        "\"**\" is not allowed"                                             },
      {"0 24 * * ? *",        "the hour of cron is \"24\": \"24\" is not allowed. It takes 0-23"  },
      {"0 9am * * ? *",       "the hour of cron is \"9am\""                                       },
      {"0 9 0 * ? *",         "the day-of-month of cron is \"0\""                                 },
      {"0 9 32 * ? *",        "It takes 1-31"                                                     },
      {"0 9 W * ? *",         "W follows a day from 1 to 31, or L"                                },
      {"0 9 32W * ? *",       "W follows a day"                                                   },
      {"0 9 L-0 * ? *",       "L- takes 1 to 30 days"                                             },
      {"0 9 L-31 * ? *",      "L- takes 1 to 30 days"                                             },
      {"0 9 MON * ? *",       "the day-of-month of cron is \"MON\""                               },
      {"0 9 * 13 ? *",
       "the month of cron is \"13\": \"13\" is not allowed. It takes 1-12 or JAN-DEC"             },
      {"0 9 * JANUARY ? *",   "\"JANUARY\" is not allowed"                                        },
      {"0 9 * L ? *",         "the month of cron is \"L\""                                        },
      {"0 9 ? * 0 *",
       "the day-of-week of cron is \"0\": \"0\" is not allowed. It takes 1-7 or SUN-SAT"          },
      {"0 9 ? * 8 *",         "the day-of-week of cron is \"8\""                                  },
      {"0 9 ? * 3#6 *",       "its occurrence in the month from 1 to 5"                           },
      {"0 9 ? * 3#0 *",       "its occurrence in the month from 1 to 5"                           },
      {"0 9 ? * 3#1,6#3 *",   "an item with # is alone in the field"                              },
      {"0 9 ? * 15W *",       "the day-of-week of cron is \"15W\""                                },
      {"0 9 ? * 9L *",        "L stands alone, or follows a day"                                  },
      {"0 9 * * * *",         "the day-of-month of cron is \"*\", the day-of-week \"*\": write ?" },
      {"0 9 ? * ? *",         "write ? for one and a value or * for the other"                    },
      {"0 9 1 * MON *",       "write ? for one"                                                   },
      {"0 9 ?,1 * ? *",       "the day-of-month of cron is \"?,1\""                               },
      {"0 9 * * ? 1969",
       "the year of cron is \"1969\": \"1969\" is not allowed. It takes 1970-2199"                },
      {"0 9 * * ? 2200",      "the year of cron is \"2200\""                                      },
      {"0 9 * * ? 26",        "the year of cron is \"26\""                                        },
      {"0 9 * * ? 2030-2029", "2030 comes after 2029"                                             },
  };
  for (const auto& [fields, text] : cases) {
    const auto cron = parse_cron(fields);
    ASSERT_FALSE(cron) << fields;
    EXPECT_TRUE(cron.error().contains(text)) << fields << ": " << cron.error();
  }
}

}  // namespace
}  // namespace pawl

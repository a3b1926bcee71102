// SPDX-License-Identifier: Apache-2.0
// Schedules for tests: requests of the API, and rows of a directory.
#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "core/queue/directory.h"
#include "proto/scheduler/schedule.h"
#include "proto/text/json_dom.h"

namespace pawl {

inline constexpr std::string_view test_account = "000000000000";
inline constexpr Instant test_now{1'700'000'000'123};  // 2023-11-14T22:13:20.123Z

inline constexpr std::string_view queue_target =
    R"({"Arn":"arn:aws:sqs:us-east-1:000000000000:q","RoleArn":"arn:aws:iam::000000000000:role/r"})";

// A request with the expression and a target; `more` has further members, with a comma in front.
inline std::string request_text(std::string_view expression, std::string_view more = {},
                                std::string_view target = queue_target) {
  return fmt::format(
      R"({{"ScheduleExpression":"{}","FlexibleTimeWindow":{{"Mode":"OFF"}},"Target":{}{}}})",
      expression, target, more);
}

// Reads and checks a request; the fault, or an empty text.
inline std::string fault_of(const std::string& request, Schedule& out) {
  JsonDom dom;
  std::string why;
  const auto document = dom.parse(request);
  if (!document) return "no JSON: " + request;
  out = {};
  if (out.read(*document, why) && out.check(test_account, why) &&
      out.check_dates(test_now, nullptr, why))
    return {};
  EXPECT_FALSE(why.empty()) << request;
  return why;
}

inline std::string fault_of(const std::string& request) {
  Schedule out;
  return fault_of(request, out);
}

inline Schedule schedule_of(const std::string& request) {
  Schedule out;
  EXPECT_EQ(fault_of(request, out), "") << request;
  out.note_creation(test_now);
  return out;
}

inline QueueConfig schedule_row(std::uint32_t id, std::string_view name, const Schedule& schedule) {
  QueueConfig row;
  row.id = QueueId{id};
  row.set_name(schedule_account(test_account), name);
  row.apply({Attribute::schedule, -1, schedule.text()});
  return row;
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// EventBridge Scheduler's API over the fixture of SQS: requests as REST, JSON out.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>

#include "proto/scheduler/call.h"
#include "tests/proto/scheduler/definitions.h"
#include "tests/proto/sqs/fixture.h"

namespace pawl {

class SchedulerTest : public SqsTest {
 protected:
  SchedulerTest() { now = test_now; }

  SqsResponse rest(std::string_view method, std::string_view target, std::string_view body = {}) {
    const std::string type = body.empty() ? "" : "Content-Type: application/json\r\n";
    return http(fmt::format("{} {} HTTP/1.1\r\nHost: broker.test:9324\r\n{}", method, target, type),
                body);
  }
  SqsResponse create(std::string_view name, std::string_view more = {},
                     std::string_view expression = "rate(5 minutes)") {
    return rest("POST", fmt::format("/schedules/{}", name), request_text(expression, more));
  }
  void create_group(std::string_view name) {
    const SqsResponse made = rest("POST", fmt::format("/schedule-groups/{}", name), "{}");
    ASSERT_EQ(made.status, 200) << made.body;
  }

  static void expect_fault(const SqsResponse& answer, int status, std::string_view type,
                           std::string_view text) {
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_EQ(answer.header("X-Amzn-ErrorType"), type);
    EXPECT_EQ(answer.body, fmt::format(R"({{"Message":"{}"}})", text));
    EXPECT_EQ(answer.header("Content-Type"), "application/json");
  }
  static void expect_not_found(const SqsResponse& answer, std::string_view text) {
    expect_fault(answer, 404, "ResourceNotFoundException", text);
  }

  // The text of a member; for other values their JSON.
  static std::string member(const SqsResponse& answer, std::string_view name) {
    JsonDom dom;
    const auto document = dom.parse(answer.body);
    EXPECT_TRUE(document) << answer.body;
    const auto value = document ? document->member(name) : std::nullopt;
    if (!value) return "absent";
    const auto text = value->text();
    return text ? std::string(*text) : value->compact();
  }
  // The names in the list of a response.
  static std::string names(const SqsResponse& answer, std::string_view list = "Schedules") {
    JsonDom dom;
    const auto document = dom.parse(answer.body);
    EXPECT_TRUE(document) << answer.body;
    std::string all;
    if (!document || !document->member(list)) return answer.body;
    for (const JsonValue one : document->member(list)->items()) {
      if (!all.empty()) all += ' ';
      all += *one.member("Name")->text();
    }
    return all;
  }
};

}  // namespace pawl

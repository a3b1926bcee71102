// SPDX-License-Identifier: Apache-2.0
#include "proto/scheduler/fired_input.h"

#include <gtest/gtest.h>

#include "proto/text/json_dom.h"

namespace pawl {
namespace {

const FireContext noon{.account = "111122223333",
                       .region = "eu-west-1",
                       .arn = "arn:aws:scheduler:eu-west-1:111122223333:schedule/default/n",
                       .time = "2026-12-24T12:00:00Z",
                       .id = "8acef941-10b8-8208-266c-308fe104da46"};

TEST(FiredInput, HasItsWordsReplaced) {
  EXPECT_EQ(fired_input("plain", noon), "plain");
  EXPECT_EQ(fired_input("<aws.scheduler.scheduled-time> <aws.scheduler.attempt-number>", noon),
            "2026-12-24T12:00:00Z 1");
  EXPECT_EQ(fired_input("<aws.scheduler.schedule-arn><aws.scheduler.execution-id>", noon),
            noon.arn + noon.id);
  EXPECT_EQ(fired_input("<aws.scheduler.<aws.scheduler.other> <aws.", noon),
            "<aws.scheduler.<aws.scheduler.other> <aws.");
}

TEST(FiredInput, NamesTheScheduleIfThereIsNone) {
  JsonDom dom;
  const std::string text = fired_input("", noon);
  const auto document = dom.parse(text);
  ASSERT_TRUE(document) << text;
  const auto member = [&](const char* name) {
    return std::string(document->member(name)->text().value_or(""));
  };
  EXPECT_EQ(member("id"), noon.id);
  EXPECT_EQ(member("account"), noon.account);
  EXPECT_EQ(member("region"), noon.region);
  EXPECT_EQ(member("time"), noon.time);
  EXPECT_NE(text.find("\"resources\":[\"" + noon.arn + "\"]"), text.npos) << text;
}

}  // namespace
}  // namespace pawl

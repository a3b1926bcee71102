// SPDX-License-Identifier: Apache-2.0
#include "proto/declared/declared_planner.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/scheduler/schedule.h"

namespace pawl {
namespace {

constexpr const char* account_a = "000000000000";

class DeclaredPlannerTest : public ::testing::Test {
 protected:
  DeclaredRow& declare(DeclaredKind kind, std::string name) {
    DeclaredRow row;
    row.kind = kind;
    row.account = account_a;
    row.name = std::move(name);
    row.where = "f:" + std::to_string(rows_.size() + 1) + ":1";
    rows_.push_back(std::move(row));
    return rows_.back();
  }
  DeclaredRow& declare_schedule(std::string name, std::string group, std::string_view queue) {
    DeclaredRow& row = declare(DeclaredKind::schedule, std::move(name));
    row.group = std::move(group);
    row.attributes = {
        {"expression", "rate(1 hour)",                                             "f:9:1"},
        {"queue",      "arn:aws:sqs:us-east-1:000000000000:" + std::string(queue), "f:9:2"}
    };
    return row;
  }
  void add(const std::string& account, const std::string& name, const std::string& definition) {
    QueueConfig config;
    config.id = QueueId{++ids_};
    config.set_name(account, name);
    config.apply({Attribute::schedule, -1, definition});
    directory_.put(std::make_shared<const QueueConfig>(std::move(config)));
  }
  DeclaredPlan plan() {
    return DeclaredPlanner(rows_, directory_, settings_).plan(FaultyPlan::is_empty);
  }
  std::vector<std::string> actions() {
    std::vector<std::string> all;
    const DeclaredPlan made = plan();
    EXPECT_EQ(made.fault, "");
    for (const auto& phase : made.phases)
      for (const DeclaredAction& action : phase)
        all.push_back(action.action + ' ' + describe(*action.row));
    return all;
  }

  DeclaredRows rows_;
  Directory directory_;
  CallSettings settings_;
  std::uint32_t ids_ = 0;
};

using PlannedActions = std::vector<std::string>;

TEST_F(DeclaredPlannerTest, SchedulesComeBehindTheirGroupsAndTargets) {
  declare_schedule("a", "g", "q");
  declare_schedule("b", "g", "q");
  declare_schedule("c", "default", "q");
  declare(DeclaredKind::queue, "q");
  EXPECT_EQ(actions(), (PlannedActions{"CreateQueue queue q", "CreateScheduleGroup schedule a",
                                       "CreateSchedule schedule a", "CreateSchedule schedule b",
                                       "CreateSchedule schedule c"}));
  EXPECT_NE(plan().summary.find("subscriptions: 0, schedules: 3; made: 5"), std::string::npos);
}

TEST_F(DeclaredPlannerTest, AScheduleThatIsThereIsChangedIfItDiffers) {
  declare_schedule("s", "default", "q");
  declare(DeclaredKind::queue, "q");
  Schedule there;
  there.timing.expression = "rate(1 hour)";
  there.timing.nonexistent = NonexistentTime::next;
  there.timing.enabled = false;
  there.target.arn = "arn:aws:sqs:us-east-1:000000000000:q";
  there.target.role = "arn:aws:iam::000000000000:role/mine";
  add("scheduler/000000000000", "default/s", there.text());
  EXPECT_EQ(actions(), (PlannedActions{"CreateQueue queue q"}));
  there.catch_up = CatchUp::none;
  add("scheduler/000000000000", "default/s", there.text());
  EXPECT_EQ(actions(), (PlannedActions{"CreateQueue queue q", "UpdateSchedule schedule s"}));
  add("scheduler/000000000000", "default/s", "unreadable");
  EXPECT_EQ(actions(), (PlannedActions{"CreateQueue queue q", "UpdateSchedule schedule s"}));
}

TEST_F(DeclaredPlannerTest, AGroupThatIsThereIsNotMade) {
  declare_schedule("s", "g", "q");
  declare(DeclaredKind::queue, "q");
  add("scheduler/000000000000", "g", ScheduleGroupText().text());
  EXPECT_EQ(actions(), (PlannedActions{"CreateQueue queue q", "CreateSchedule schedule s"}));
}

TEST_F(DeclaredPlannerTest, ATargetMustBeDeclaredOrThere) {
  declare_schedule("s", "default", "none");
  EXPECT_TRUE(plan().fault.starts_with("f:9:2: queue = ")) << plan().fault;
  EXPECT_NE(plan().fault.find("Declare it as [[queue]] too"), std::string::npos) << plan().fault;
  rows_.clear();
  declare_schedule("s", "default", "q");
  declare(DeclaredKind::queue, "q");
  rows_.front().attributes[1] = {"topic", "arn:aws:sns:us-east-1:000000000000:t", "f:9:3"};
  EXPECT_TRUE(plan().fault.starts_with("f:9:3: topic = ")) << plan().fault;
  declare(DeclaredKind::topic, "t");
  EXPECT_EQ(plan().fault, "");
}

TEST_F(DeclaredPlannerTest, MissingTagsAreThoseWithAnotherValue) {
  DeclaredRow row;
  row.tags = {
      {"a", "1", "f:1:1"},
      {"b", "2", "f:1:2"}
  };
  QueueConfig config;
  config.tags = {
      {"a", "1"},
      {"b", "3"}
  };
  const DeclaredValues missing = missing_tags(row, config);
  ASSERT_EQ(missing.size(), 1U);
  EXPECT_EQ(missing.front().key, "b");
}

}  // namespace
}  // namespace pawl

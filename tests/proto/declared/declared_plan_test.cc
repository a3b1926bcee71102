// SPDX-License-Identifier: Apache-2.0
#include "proto/declared/declared_plan.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/declared/declared_planner.h"
#include "proto/sns/topic.h"

namespace pawl {
namespace {

constexpr const char* own = "000000000000";

class DeclaredPlanTest : public ::testing::Test {
 protected:
  DeclaredRow& declare(DeclaredKind kind, std::string name,
                       const std::vector<std::pair<std::string, std::string>>& attributes = {}) {
    DeclaredRow row;
    row.kind = kind;
    row.account = own;
    row.name = std::move(name);
    row.where = "f:" + std::to_string(rows_.size() + 1) + ":1";
    for (const auto& [key, value] : attributes)
      row.attributes.push_back({key, value, row.where.substr(0, row.where.size() - 1) + "9"});
    rows_.push_back(std::move(row));
    return rows_.back();
  }

  QueueConfig existing(const std::string& account, const std::string& name) {
    QueueConfig config;
    config.id = QueueId{++ids_};
    config.set_name(account, name);
    if (name.ends_with(".fifo")) config.apply({Attribute::fifo_queue, 1, {}});
    return config;
  }
  void add(QueueConfig config) {
    directory_.put(std::make_shared<const QueueConfig>(std::move(config)));
  }

  DeclaredPlan plan() { return plan_declared(rows_, directory_, settings_); }
  // "CreateQueue queue a", in their order.
  std::vector<std::string> actions() {
    std::vector<std::string> all;
    const DeclaredPlan made = plan();
    EXPECT_EQ(made.fault, "");
    for (const auto& phase : made.phases)
      for (const DeclaredAction& action : phase)
        all.push_back(action.action + ' ' + describe(*action.row));
    return all;
  }
  void refused(std::string_view where, std::string_view part) {
    const DeclaredPlan made = plan();
    EXPECT_TRUE(made.fault.starts_with(std::string(where) + ": ")) << made.fault;
    EXPECT_NE(made.fault.find(part), std::string::npos) << made.fault;
    EXPECT_EQ(made.fault, made.faults.front());
    EXPECT_TRUE(made.phases.empty());
  }
  static std::string redrive_to(std::string_view name) {
    return R"({"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:)" + std::string(name) +
           R"(","maxReceiveCount":3})";
  }

  DeclaredRows rows_;
  Directory directory_;
  CallSettings settings_;
  std::uint32_t ids_ = 0;
};

using K = DeclaredKind;
using Actions = std::vector<std::string>;

TEST_F(DeclaredPlanTest, AQueueIsCreatedOnceAndThenHasItsAttributes) {
  declare(K::queue, "q",
          {
              {"VisibilityTimeout", "60"   },
              {"x-durability",      "async"}
  });
  EXPECT_EQ(actions(), (Actions{"CreateQueue queue q"}));
  QueueConfig config = existing(own, "q");
  config.apply({Attribute::visibility_timeout, 60, {}});
  config.apply({Attribute::durability, 1, {}});
  add(config);
  EXPECT_EQ(actions(), Actions{});
  config.apply({Attribute::visibility_timeout, 61, {}});
  add(config);
  EXPECT_EQ(actions(), (Actions{"SetQueueAttributes queue q"}));
}

TEST_F(DeclaredPlanTest, DeadLetterLinksMayBeInAnyOrderAndInCircles) {
  declare(K::queue, "a",
          {
              {"RedrivePolicy", redrive_to("b")}
  });
  declare(K::queue, "b",
          {
              {"RedrivePolicy", redrive_to("a")}
  });
  EXPECT_EQ(actions(), (Actions{"CreateQueue queue a", "CreateQueue queue b",
                                "SetQueueAttributes queue a", "SetQueueAttributes queue b"}));
}

TEST_F(DeclaredPlanTest, TheTypeOfAQueueIsThatOfItsName) {
  declare(K::queue, "q.fifo",
          {
              {"ContentBasedDeduplication", "true"}
  });
  const DeclaredPlan made = plan();
  ASSERT_EQ(made.phases.at(1).size(), 1U);
  EXPECT_NE(made.phases[1][0].body.find(R"("FifoQueue":"true")"), std::string::npos);
  add(existing(own, "q.fifo"));
  EXPECT_EQ(actions(), (Actions{"SetQueueAttributes queue q.fifo"}));
  rows_[0].attributes = {
      {"FifoQueue", "false", "f:7:1"}
  };
  refused("f:7:1", "the name decides");
}

TEST_F(DeclaredPlanTest, FaultsNameTheKeyTheValueAndTheAllowedOnes) {
  struct Case {
    const char* name;
    std::pair<std::string, std::string> attribute;
    const char* part;
  };
  const Case cases[] = {
      {"q",      {"VisibilityTimeout", "99999"},        "Allowed: 0 to 43200, or to x-max-visibility."},
      {"q",      {"x-durability", "fast"},              "Allowed: fsync, async, memory"               },
      {"q",      {"FifoQueue", "true"},                 ".fifo"                                       },
      {"q",      {"ContentBasedDeduplication", "true"}, "FIFO queues"                                 },
      {"q.fifo", {"DeduplicationScope", "queues"},      "Allowed: queue, messageGroup"                },
      {"q",      {"RedrivePolicy", redrive_to("none")}, "Declare the dead-letter queue"               },
      {"q",      {"Policy", "no"},                      "Policy = no of queue q"                      },
  };
  for (const Case& c : cases) {
    rows_.clear();
    declare(K::queue, c.name, {c.attribute});
    refused("f:1:9", c.part);
  }
}

TEST_F(DeclaredPlanTest, AShorterRetentionNeedsAnEmptyQueue) {
  add(existing(own, "q"));
  declare(K::queue, "q",
          {
              {"MessageRetentionPeriod", "60"}
  });
  const DeclaredPlan made = plan();
  EXPECT_EQ(made.fault, "");
  ASSERT_EQ(made.must_be_empty.size(), 1U);
  EXPECT_EQ(made.must_be_empty[0].queue, QueueId{1});
  EXPECT_TRUE(made.must_be_empty[0].fault.starts_with("f:1:9: MessageRetentionPeriod = 60"));
  rows_[0].attributes[0].value = "1209600";
  EXPECT_TRUE(plan().must_be_empty.empty()) << "a longer one deletes nothing";
}

TEST_F(DeclaredPlanTest, MissingTagsAreAddedAndOthersStay) {
  QueueConfig config = existing(own, "q");
  config.tags = {
      {"other", "x"   },
      {"team",  "shop"}
  };
  add(config);
  declare(K::queue, "q").tags = {
      {"team", "shop", "f:1:1"}
  };
  EXPECT_EQ(actions(), Actions{});
  rows_[0].tags[0].value = "shop2";
  EXPECT_EQ(actions(), (Actions{"TagQueue queue q"}));
}

TEST_F(DeclaredPlanTest, TopicsAndSubscriptionsAreChangedWhereTheyDiffer) {
  declare(K::queue, "q");
  declare(K::topic, "t",
          {
              {"DisplayName", "News"}
  });
  declare(K::subscription, "t",
          {
              {"RawMessageDelivery", "true"}
  })
      .endpoint = "arn:aws:sqs:us-east-1:000000000000:q";
  EXPECT_EQ(actions(), (Actions{"CreateQueue queue q", "CreateTopic topic t",
                                "Subscribe subscription to topic t"}));
  add(existing(own, "q"));
  SnsTopic topic;
  topic.attributes = {
      {"DisplayName", "News"}
  };
  QueueConfig row = existing("sns/000000000000", "t");
  row.apply({Attribute::topic, -1, topic.json()});
  SnsSubscription there;
  there.id = "11111111-1111-1111-1111-111111111111";
  there.endpoint = "arn:aws:sqs:us-east-1:000000000000:q";
  row.apply_row({Attribute::topic_row, 1, there.json()});
  add(row);
  EXPECT_EQ(actions(), (Actions{"SetSubscriptionAttributes subscription to topic t"}));
  rows_[2].attributes[0].value = "false";
  EXPECT_EQ(actions(), Actions{}) << "the default";
  rows_[1].attributes[0].value = "Olds";
  EXPECT_EQ(actions(), (Actions{"SetTopicAttributes topic t"}));
}

TEST_F(DeclaredPlanTest, ASubscriptionNeedsItsTopicAndItsQueue) {
  declare(K::subscription, "t").endpoint = "arn:aws:sqs:us-east-1:000000000000:q";
  refused("f:1:1", "Declare it as [[topic]]");
  declare(K::topic, "t");
  refused("f:1:1", "Declare it as [[queue]]");
}

TEST_F(DeclaredPlanTest, MessagesAreSentWhenTheirQueueIsMade) {
  declare(K::queue, "q");
  DeclaredRow& message = declare(K::message, "q");
  message.body = "\"a\"\n";
  message.delay = 5;
  message.attributes = {
      {"colour", "red", "f:2:1"}
  };
  EXPECT_EQ(actions(), (Actions{"CreateQueue queue q", "SendMessage message for queue q",
                                "UntagQueue queue q"}));
  const DeclaredPlan made = plan();
  EXPECT_NE(made.phases.at(3).at(0).body.find(R"("MessageBody":"\"a\"\n")"), std::string::npos);
  EXPECT_EQ(
      made.summary,
      "declared queues: 1, topics: 0, subscriptions: 0; made: 1, changes: 1, messages sent: 1");
  add(existing(own, "q"));
  EXPECT_EQ(actions(), Actions{});
}

TEST_F(DeclaredPlanTest, MessagesOfAStartThatWasCutOffAreSentAgain) {
  declare(K::queue, "q");
  declare(K::message, "q");
  QueueConfig config = existing(own, "q");
  config.tags = {
      {std::string(unsent_tag), "not sent yet"}
  };
  add(config);
  EXPECT_EQ(actions(), (Actions{"DeleteQueue queue q", "CreateQueue queue q",
                                "SendMessage message for queue q", "UntagQueue queue q"}));
  rows_.pop_back();
  EXPECT_EQ(actions(), (Actions{"DeleteQueue queue q", "CreateQueue queue q"}))
      << "the file has lost its message";
}

TEST_F(DeclaredPlanTest, ThePlannedDirectoryHasWhatWillBeThere) {
  declare(K::queue, "q.fifo");
  declare(K::topic, "t.fifo");
  const DeclaredPlan made = plan();
  EXPECT_NE(made.planned.find(own, "q.fifo"), nullptr);
  const ConfigPtr* const topic = made.planned.find(topic_account(own), "t.fifo");
  ASSERT_NE(topic, nullptr);
  EXPECT_TRUE(topic_of(*topic)->is_fifo());
  EXPECT_EQ(directory_.size(), 0U);
}

TEST(DeclaredForm, EscapesEverythingThatIsNotPlain) {
  EXPECT_EQ(declared_form({
                {"a.b", "x&y=z é"},
                {"c",   ""       }
  }),
            "a.b=x%26y%3Dz%20%C3%A9&c=");
}

}  // namespace
}  // namespace pawl

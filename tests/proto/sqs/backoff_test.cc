// SPDX-License-Identifier: Apache-2.0
#include "proto/sqs/backoff.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pawl {
namespace {

class BackoffTest : public testing::Test {
 protected:
  // The plan of a policy; empty: it is refused.
  std::string plan(const std::string& policy) {
    changes_.clear();
    refusal_.clear();
    const bool good = read_retry_backoff(policy, changes_, refusal_);
    EXPECT_EQ(good, !refusal_) << policy;
    return good ? changes_.at(1).text : std::string();
  }

  std::vector<AttributeChange> changes_;
  Refusal refusal_;
};

TEST_F(BackoffTest, GrowsFromBaseToCap) {
  EXPECT_EQ(plan(R"({"base":"1s","factor":2,"cap":"10s","jitter":"none"})"),
            "none 1000,2000,4000,8000,10000");
  EXPECT_EQ(plan(R"({"base":"500ms","factor":1.5,"cap":"1s","jitter":"equal"})"),
            "equal 500,750,1000");
  EXPECT_EQ(plan(R"({"base":"5s","factor":1})"), "full 5000");
  EXPECT_EQ(plan(R"({"base":300,"cap":"15m"})"), "full 300000,600000,900000") << "bare: seconds";
  EXPECT_EQ(plan(R"({"base":"10m"})"), "full 600000,900000") << "the cap is 15 minutes";
}

TEST_F(BackoffTest, TakesSteps) {
  EXPECT_EQ(plan(R"({"steps":["1m","5m","2h"],"jitter":"none"})"), "none 60000,300000,7200000");
  EXPECT_EQ(plan(R"({"steps":["30d"]})"), "full 2592000000");
  EXPECT_EQ(plan(R"({"steps":[60,"5m"]})"), "full 60000,300000");
}

TEST_F(BackoffTest, KeepsThePolicyAsItWasGiven) {
  plan(R"({ "base" : "1s" , "cap": "2s" })");
  ASSERT_EQ(changes_.size(), 2u);
  EXPECT_EQ(changes_[0].attribute, Attribute::retry_backoff);
  EXPECT_EQ(changes_[0].text, R"({"base":"1s","cap":"2s"})");
  EXPECT_EQ(changes_[1].attribute, Attribute::backoff_plan);
  EXPECT_EQ(plan(""), "");
  EXPECT_EQ(changes_.size(), 2u) << "an empty policy unsets both";
}

TEST_F(BackoffTest, NamesTheDefaultThatABaseIsAbove) {
  EXPECT_EQ(plan(R"({"base":"1h"})"), "");
  EXPECT_EQ(refusal_.fault, SqsFault::invalid_attribute_value);
  EXPECT_TRUE(
      refusal_.text.contains("base is 1h; the longest wait, cap, is 15 minutes unless it is given"))
      << refusal_.text;
  EXPECT_TRUE(refusal_.text.contains("x-retry-backoff")) << refusal_.text;
}

TEST_F(BackoffTest, NamesWhatIsWrong) {
  const struct {
    const char *policy, *words;
  } rows[] = {
      {"1s",                               "not a JSON object"                     },
      {R"({"base":"1s",})",                "not a JSON object"                     },
      {"{}",                               "needs base or steps"                   },
      {R"({"jitter":"full"})",             "needs base or steps"                   },
      {R"({"base":"1x"})",                 "base is 1x; write a duration of 1ms to"},
      {R"({"base":"0s"})",                 "base is 0s"                            },
      {R"({"base":"31d"})",                "base is 31d"                           },
      {R"({"base":"1s","factor":0.5})",    "factor is 0.5; it is a number from 1"  },
      {R"({"base":"1s","factor":"two"})",  "factor is two"                         },
      {R"({"base":"1s","factor":1.01})",   "only after more than 64 receives"      },
      {R"({"base":"1s","jitter":"some"})", "jitter is some; it is one of none, "   },
      {R"({"base":"1s","max":"2s"})",      "Unknown member max"                    },
      {R"({"steps":[]})",                  "steps is a list of 1 to 64 durations"  },
      {R"({"steps":"1m"})",                "steps is a list of 1 to 64 durations"  },
      {R"({"steps":["1m","soon"]})",       "steps[1] is soon"                      },
      {R"({"steps":["1m"],"base":"1s"})",  "It has steps and base"                 },
  };
  for (const auto& row : rows) {
    EXPECT_EQ(plan(row.policy), "") << row.policy;
    EXPECT_EQ(refusal_.fault, SqsFault::invalid_attribute_value);
    EXPECT_TRUE(refusal_.text.contains(row.words)) << row.policy << ": " << refusal_.text;
    EXPECT_TRUE(refusal_.text.contains("x-retry-backoff")) << refusal_.text;
  }
  std::string steps = R"({"steps":["1s")";
  for (int i = 0; i < 64; ++i) steps += R"(,"1s")";
  EXPECT_EQ(plan(steps + "]}"), "") << "65 steps";
}

}  // namespace
}  // namespace pawl

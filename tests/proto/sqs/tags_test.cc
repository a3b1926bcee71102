// SPDX-License-Identifier: Apache-2.0
// Tags, and changes of a queue that others change at the same time.
#include "tests/proto/sqs/fixture.h"

#include <fmt/core.h>

namespace pawl {
namespace {

constexpr std::string_view invalid_value =
    "com.amazon.coral.service#InvalidParameterValueException";
constexpr std::string_view missing = "com.amazon.coral.service#MissingRequiredParameterException";

class SqsTags : public SqsTest {
 protected:
  void SetUp() override { make_queue("q"); }

  SqsResponse tag(std::string_view tags) {
    return on_queue("TagQueue", fmt::format(R"("Tags":{})", tags));
  }
  SqsResponse untag(std::string_view keys) {
    return on_queue("UntagQueue", fmt::format(R"("TagKeys":{})", keys));
  }
  std::string listed() { return on_queue("ListQueueTags", "").body; }
};

TEST_F(SqsTags, AreAddedReplacedAndTakenAway) {
  EXPECT_EQ(listed(), "{}");
  EXPECT_EQ(tag(R"({"b":"2","a":"1"})").body, "");
  EXPECT_EQ(listed(), R"({"Tags":{"a":"1","b":"2"}})");
  EXPECT_EQ(tag(R"({"a":"","B":"3"})").status, 200);
  EXPECT_EQ(listed(), R"({"Tags":{"B":"3","a":"","b":"2"}})");
  EXPECT_EQ(untag(R"(["b","none","B"])").body, "");
  EXPECT_EQ(listed(), R"({"Tags":{"a":""}})");
  EXPECT_EQ(untag(R"(["a"])").status, 200);
  EXPECT_EQ(listed(), "{}");
}

TEST_F(SqsTags, AreNumberedInForms) {
  const SqsResponse tagged = query(
      "Action=TagQueue&QueueUrl=q&Tag.1.Key=k&Tag.1.Value=1&Tag.2.Key=l&Tag.2.Value=2"
      "&Tag.3.Key=m&Tag.3.Value=");
  EXPECT_EQ(tagged.status, 200);
  EXPECT_EQ(tagged.body.find("Result"), std::string::npos) << tagged.body;
  EXPECT_EQ(query("Action=UntagQueue&QueueUrl=q&TagKey.1=x&TagKey.4=l").status, 200);
  const SqsResponse list = query("Action=ListQueueTags&QueueUrl=q");
  EXPECT_NE(list.body.find("<ListQueueTagsResult><Tag><Key>k</Key><Value>1</Value></Tag>"
                           "<Tag><Key>m</Key><Value></Value></Tag></ListQueueTagsResult>"),
            std::string::npos)
      << list.body;
}

TEST_F(SqsTags, NamedTwiceAreRefusedInAForm) {
  const SqsResponse answer =
      query("Action=TagQueue&QueueUrl=q&Tag.1.Key=k&Tag.1.Value=1&Tag.2.Key=k&Tag.2.Value=1");
  EXPECT_EQ(answer.status, 400);
  EXPECT_NE(answer.body.find("<Code>InvalidQueryParameter</Code>"
                             "<Message>Tag names k twice: name it once.</Message>"),
            std::string::npos)
      << answer.body;
  EXPECT_EQ(listed(), "{}");
}

TEST_F(SqsTags, OfANewQueueFollowTheSameRules) {
  EXPECT_EQ(json("CreateQueue", R"({"QueueName":"t","tags":{"k":"v"}})").status, 200);
  EXPECT_EQ(json("ListQueueTags", R"({"QueueUrl":"t"})").body, R"({"Tags":{"k":"v"}})");
  expect_error(json("CreateQueue", R"({"QueueName":"u","tags":{"aws:k":"v"}})"), 400, invalid_value,
               "Tag keys cannot begin with aws:");
}

TEST_F(SqsTags, FollowTheRulesOfSqs) {
  struct Case {
    std::string tags, text;
  };
  constexpr std::string_view key_length =
      "Tag keys must be between 1 and 128 characters in length.";
  constexpr std::string_view value_length =
      "Tag values must be between 0 and 256 characters in length.";
  constexpr std::string_view characters =
      "Tag keys and values can only include letters, digits, white space and the characters _ . : "
      "/ = + - @";
  const Case cases[] = {
      {R"({"":"v"})", std::string(key_length)},
      {fmt::format(R"({{"{}":"v"}})", std::string(129, 'k')), std::string(key_length)},
      {fmt::format(R"({{"k":"{}"}})", std::string(257, 'v')), std::string(value_length)},
      {R"({"a!":"v"})", std::string(characters)},
      {R"({"k":"a,b"})", std::string(characters)},
      {R"({"k":"\u0001"})", std::string(characters)},
      {R"({"aws:k":"v"})", "Tag keys cannot begin with aws:"},
  };
  for (const Case& c : cases) expect_error(tag(c.tags), 400, invalid_value, c.text);
  EXPECT_EQ(broker.seen[Op::set_attributes], 0);
  for (const std::string& good :
       {fmt::format(R"({{"{}":"{}"}})", std::string(128, 'k'), std::string(256, 'v')),
        std::string(R"({"AWS:k _.:/=+-@9Z":"a b\t"})"),
        std::string("{\"\u00e9\u4e2d\":\"\u00fc\"}")}) {
    EXPECT_EQ(tag(good).status, 200) << good;
  }
}

TEST_F(SqsTags, AreAtMostFifty) {
  std::string many = R"("k0":"")";
  for (int i = 1; i < 50; ++i) many += fmt::format(R"(,"k{}":"")", i);
  EXPECT_EQ(tag("{" + many + "}").status, 200);
  EXPECT_EQ(tag(R"({"k7":"again"})").status, 200);
  expect_error(tag(R"({"k50":""})"), 400, invalid_value, "Too many tags added for queue q.");
  EXPECT_EQ(untag(R"(["k7"])").status, 200);
  EXPECT_EQ(tag(R"({"k50":""})").status, 200);
}

TEST_F(SqsTags, MustBeGiven) {
  for (const std::string_view none : {"", R"("Tags":{})", R"("Tags":null)"}) {
    expect_error(on_queue("TagQueue", none), 400, missing,
                 "The request must contain the parameter Tags.");
  }
  for (const std::string_view null : {R"({"k":null})", R"({"a":"1","k":null})"}) {
    expect_error(tag(null), 400, missing, "The request must contain the parameter Tags.");
    expect_error(json("CreateQueue", fmt::format(R"({{"QueueName":"n","tags":{}}})", null)), 400,
                 missing, "The request must contain the parameter Tags.");
  }
  for (const std::string_view none : {"", R"("TagKeys":[])", R"("TagKeys":null)"}) {
    expect_error(on_queue("UntagQueue", none), 400, invalid_value,
                 "Tag keys must be between 1 and 128 characters in length.");
  }
  EXPECT_EQ(broker.seen[Op::set_attributes], 0);
  for (const std::string_view action : {"TagQueue", "UntagQueue", "ListQueueTags"}) {
    expect_error(json(action, R"({"QueueUrl":"none","Tags":{"a":"b"},"TagKeys":["a"]})"), 400,
                 "com.amazonaws.sqs#QueueDoesNotExist", "The specified queue does not exist.");
  }
}

TEST_F(SqsTags, SurviveWhatOthersChangeMeanwhile) {
  int changes = 0;
  broker.before_changes = [&] {
    if (changes == 2) return;
    auto changed = std::make_shared<QueueConfig>(**broker.directory.find(QueueId{1}));
    changed->tags.emplace_back(fmt::format("theirs{}", changes++), "t");
    broker.directory.put(changed);
  };
  EXPECT_EQ(tag(R"({"mine":"m"})").status, 200);
  EXPECT_EQ(broker.seen[Op::set_attributes], 3);
  broker.before_changes = nullptr;
  EXPECT_EQ(listed(), R"({"Tags":{"mine":"m","theirs0":"t","theirs1":"t"}})");
}

TEST_F(SqsTags, AreGivenUpOnWhenOthersNeverStop) {
  broker.before_changes = [&] {
    broker.directory.put(std::make_shared<QueueConfig>(**broker.directory.find(QueueId{1})));
  };
  const SqsResponse answer = tag(R"({"mine":"m"})");
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(answer.header("x-amzn-query-error"), "RequestThrottled;Sender");
  EXPECT_EQ(broker.seen[Op::set_attributes], 1 + static_cast<int>(change_retries_max));
}

}  // namespace
}  // namespace pawl

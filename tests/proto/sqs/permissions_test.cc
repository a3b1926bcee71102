// SPDX-License-Identifier: Apache-2.0
// Permissions: AddPermission and RemovePermission write the queue's Policy.
#include "tests/proto/sqs/fixture.h"

#include <fmt/core.h>

namespace pawl {
namespace {

constexpr std::string_view invalid_value =
    "com.amazon.coral.service#InvalidParameterValueException";

class SqsPermissions : public SqsTest {
 protected:
  void SetUp() override { make_queue("q"); }

  SqsResponse add(std::string_view label, std::string_view accounts, std::string_view actions) {
    return on_queue("AddPermission", fmt::format(R"("Label":"{}","AWSAccountIds":{},"Actions":{})",
                                                 label, accounts, actions));
  }
  SqsResponse remove(std::string_view label) {
    return on_queue("RemovePermission", fmt::format(R"("Label":"{}")", label));
  }
  std::string policy() {
    return std::string((*broker.directory.find(QueueId{1}))->text(Attribute::policy));
  }
};

constexpr std::string_view one = R"(["222222222222"])";
constexpr std::string_view send = R"(["SendMessage"])";

TEST_F(SqsPermissions, ArePartOfThePolicyUntilTheyAreRemoved) {
  EXPECT_EQ(add("label", one, send).body, "");
  const std::string first =
      R"({"Version":"2008-10-17","Id":"arn:aws:sqs:us-east-1:000000000000:q/SQSDefaultPolicy",)"
      R"("Statement":[{"Sid":"label","Effect":"Allow","Principal":)"
      R"({"AWS":"arn:aws:iam::222222222222:root"},"Action":"SQS:SendMessage",)"
      R"("Resource":"arn:aws:sqs:us-east-1:000000000000:q"}]})";
  EXPECT_EQ(policy(), first);
  EXPECT_EQ(query("Action=AddPermission&QueueUrl=q&Label=two&AWSAccountId.1=222222222222"
                  "&AWSAccountId.2=333333333333&ActionName.1=ReceiveMessage"
                  "&ActionName.2=DeleteMessage")
                .status,
            200);
  EXPECT_NE(policy().find(R"("Principal":{"AWS":["arn:aws:iam::222222222222:root",)"
                          R"("arn:aws:iam::333333333333:root"]},)"
                          R"("Action":["SQS:ReceiveMessage","SQS:DeleteMessage"])"),
            std::string::npos)
      << policy();
  EXPECT_EQ(query("Action=RemovePermission&QueueUrl=q&Label=two").status, 200);
  EXPECT_EQ(policy(), first);
  EXPECT_EQ(remove("label").body, "");
  EXPECT_EQ(on_queue("GetQueueAttributes", R"("AttributeNames":["Policy"])").body, "{}");
}

TEST_F(SqsPermissions, FollowTheRulesOfSqs) {
  EXPECT_EQ(add("there", one, send).status, 200);
  expect_error(add("there", one, send), 400, invalid_value,
               "Value there for parameter Label is invalid. Reason: Already exists.");
  expect_error(remove("none"), 400, invalid_value,
               "Value none for parameter Label is invalid. Reason: can't find label.");
  expect_error(add("l", one, R"(["X"])"), 400, invalid_value,
               "Value SQS:X for parameter ActionName is invalid. Reason: Please refer to the "
               "appropriate WSDL for a list of valid actions.");
  for (const std::string_view action :
       {"AddPermission", "CreateQueue", "DeleteQueue", "ListQueues", "ListQueueTags",
        "RemovePermission", "SetQueueAttributes", "TagQueue", "UntagQueue"}) {
    expect_error(add("l", one, fmt::format(R"(["{}"])", action)), 400, invalid_value,
                 fmt::format("Value SQS:{} for parameter ActionName is invalid. Reason: Only the "
                             "queue owner is allowed to invoke this action.",
                             action));
  }
  expect_error(add("l", "[]", send), 400, invalid_value,
               "Value [] for parameter PrincipalId is invalid. Reason: Unable to verify.");
  expect_error(add("l", one, "[]"), 400,
               "com.amazon.coral.service#MissingRequiredParameterException",
               "The request must contain the parameter Actions.");
  expect_error(on_queue("RemovePermission", ""), 400,
               "com.amazon.coral.service#MissingRequiredParameterException",
               "The request must contain the parameter Label.");
  expect_error(
      add("l", one,
          R"(["SendMessage","ReceiveMessage","DeleteMessage","ChangeMessageVisibility",)"
          R"("GetQueueAttributes","GetQueueUrl","PurgeQueue","ListDeadLetterSourceQueues"])"),
      403, "com.amazonaws.sqs#OverLimit", "8 Actions were found, maximum allowed is 7.");
  for (int i = 1; i < 20; ++i) EXPECT_EQ(add(fmt::format("l{}", i), one, send).status, 200);
  expect_error(add("l20", one, send), 403, "com.amazonaws.sqs#OverLimit",
               "21 Statements were found, maximum allowed is 20.");
}

TEST_F(SqsPermissions, SurviveWhatOthersChangeMeanwhile) {
  EXPECT_EQ(add("first", one, send).status, 200);
  bool changed = false;
  broker.before_changes = [&] {
    if (changed) return;
    changed = true;
    auto theirs = std::make_shared<QueueConfig>(**broker.directory.find(QueueId{1}));
    theirs->apply({Attribute::policy, -1, ""});
    broker.directory.put(theirs);
  };
  // The permission existed when the call came and is deleted when its change arrives.
  expect_error(remove("first"), 400, invalid_value,
               "Value first for parameter Label is invalid. Reason: can't find label.");
  changed = false;
  EXPECT_EQ(add("second", one, send).status, 200);
  EXPECT_EQ(policy().find("first"), std::string::npos);
  EXPECT_NE(policy().find("second"), std::string::npos);
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/sqs/policy.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/base/format.h"

namespace pawl {
namespace {

using F = SqsFault;
using Texts = std::vector<std::string_view>;

constexpr std::string_view arn = "arn:aws:sqs:us-east-1:111111111111:q";
constexpr std::string_view other = "222222222222";

struct Added {
  bool ok;
  std::string policy;
  Refusal refusal;
};

Added add(std::string_view policy, std::string_view label, const Texts& accounts,
          const Texts& actions) {
  Added result{};
  result.ok =
      add_permission(policy, arn, {label, accounts, actions}, result.policy, result.refusal);
  EXPECT_EQ(result.ok, !result.refusal);
  return result;
}

constexpr std::string_view one_statement =
    R"({"Version":"2008-10-17","Id":"arn:aws:sqs:us-east-1:111111111111:q/SQSDefaultPolicy",)"
    R"("Statement":[{"Sid":"label","Effect":"Allow","Principal":{"AWS":"arn:aws:iam::222222222222:root"},)"
    R"("Action":"SQS:SendMessage","Resource":"arn:aws:sqs:us-east-1:111111111111:q"}]})";

TEST(AddPermission, WritesThePolicyAsAwsDoes) {
  EXPECT_EQ(add("", "label", {other}, {"SendMessage"}).policy, one_statement);
}

TEST(AddPermission, WritesListsWhenThereAreMoreThanOne) {
  const Added added = add("", "l", {other, "333333333333"}, {"SendMessage", "ReceiveMessage"});
  EXPECT_NE(added.policy.find(R"("Principal":{"AWS":["arn:aws:iam::222222222222:root",)"
                              R"("arn:aws:iam::333333333333:root"]},)"
                              R"("Action":["SQS:SendMessage","SQS:ReceiveMessage"],)"),
            std::string::npos)
      << added.policy;
}

TEST(AddPermission, AddsToWhatIsThere) {
  const Added second = add(one_statement, "more", {other}, {"*"});
  ASSERT_TRUE(second.ok);
  std::string want(one_statement.substr(0, one_statement.size() - 2));
  want += R"(,{"Sid":"more","Effect":"Allow","Principal":{"AWS":"arn:aws:iam::222222222222:root"},)"
          R"("Action":"SQS:*","Resource":"arn:aws:sqs:us-east-1:111111111111:q"}]})";
  EXPECT_EQ(second.policy, want);
}

TEST(AddPermission, KeepsWhatOthersWroteIntoThePolicy) {
  const Added added = add(
      R"({"Statement": {"Sid": "mine", "Effect": "Deny"}, "Version": "2012-10-17", "Id": "a\"b"})",
      "l", {other}, {"SendMessage"});
  EXPECT_TRUE(
      added.policy.starts_with(R"({"Statement":[{"Sid":"mine","Effect":"Deny"},{"Sid":"l",)"))
      << added.policy;
  EXPECT_TRUE(added.policy.ends_with(R"(}],"Version":"2012-10-17","Id":"a\"b"})")) << added.policy;
}

TEST(AddPermission, RefusesInAwsWords) {
  const std::string long_label(81, 'l');
  const Texts seven(7, "SendMessage"), eight(8, "SendMessage");
  const Texts accounts(65, other);
  struct Case {
    std::string_view label;
    Texts accounts, actions;
    F fault;
    std::string_view text;
  };
  const Case cases[] = {
      {"fits",                                 {other}, seven,           F::none,              ""                                               },
      {std::string_view(long_label).substr(1), {other}, {"*"},           F::none,              ""                                               },
      {"",
       {other},
       {"SendMessage"},
       F::missing_parameter,
       "The request must contain the parameter Label."                                                                                          },
      {"a b",
       {other},
       {"SendMessage"},
       F::invalid_parameter_value,
       "Value a b for parameter Label is invalid. Reason: Can only include alphanumeric "
       "characters, hyphens, or "
       "underscores. 1 to 80 in length."                                                                                                        },
      {"a",                                    {other}, {},              F::missing_parameter, "The request must contain the parameter Actions."},
      {"a",
       {},
       {"SendMessage"},
       F::invalid_parameter_value,
       "Value [] for parameter PrincipalId is invalid. Reason: Unable to verify."                                                               },
      {"a",
       {other, "12"},
       {"SendMessage"},
       F::invalid_parameter_value,
       "Value [12] for parameter PrincipalId is invalid. Reason: Unable to verify."                                                             },
      {"a",
       {"22222222222\""},
       {"SendMessage"},
       F::invalid_parameter_value,
       "Value [22222222222\"] for parameter PrincipalId is invalid. Reason: Unable to verify."                                                  },
      {"a",
       accounts,                                        {"SendMessage"},
       F::over_limit,
       "65 AWSAccountIds were found, maximum allowed is 64."                                                                                    },
      {"a",                                    {other}, eight,           F::over_limit,        "8 Actions were found, maximum allowed is 7."    },
      {"a",
       {other},
       {"SendMessage", "Fly"},
       F::invalid_parameter_value,
       "Value SQS:Fly for parameter ActionName is invalid. Reason: Please refer to the appropriate "
       "WSDL for a list "
       "of valid actions."                                                                                                                      },
      {"a",
       {other},
       {"SendMessageBatch"},
       F::invalid_parameter_value,
       "Value SQS:SendMessageBatch for parameter ActionName is invalid. Reason: Please refer to "
       "the appropriate "
       "WSDL for a list of valid actions."                                                                                                      },
      {"a",
       {other},
       {"DeleteQueue"},
       F::invalid_parameter_value,
       "Value SQS:DeleteQueue for parameter ActionName is invalid. Reason: Only the queue owner is "
       "allowed to invoke "
       "this action."                                                                                                                           },
      {"label",
       {other},
       {"SendMessage"},
       F::invalid_parameter_value,
       "Value label for parameter Label is invalid. Reason: Already exists."                                                                    },
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(fmt::format("{} {}", c.label, c.text));
    const Added added = add(one_statement, c.label, c.accounts, c.actions);
    EXPECT_EQ(added.refusal.fault, c.fault);
    EXPECT_EQ(added.refusal.text, c.text);
  }
  EXPECT_EQ(add("", long_label, {other}, {"*"}).refusal.fault, F::invalid_parameter_value);
}

TEST(AddPermission, EveryActionIsGrantableOrTheOwners) {
  for (const std::string_view action :
       {"*", "SendMessage", "ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility",
        "GetQueueAttributes", "GetQueueUrl", "ListDeadLetterSourceQueues", "PurgeQueue",
        "StartMessageMoveTask", "CancelMessageMoveTask", "ListMessageMoveTasks"}) {
    EXPECT_TRUE(add("", "l", {other}, {action}).ok) << action;
  }
  for (const std::string_view action :
       {"AddPermission", "CreateQueue", "DeleteQueue", "ListQueues", "ListQueueTags",
        "RemovePermission", "SetQueueAttributes", "TagQueue", "UntagQueue"}) {
    EXPECT_NE(add("", "l", {other}, {action}).refusal.text.find("Only the queue owner"),
              std::string::npos)
        << action;
    EXPECT_EQ(permission_for(action), "") << action;
  }
}

TEST(AddPermission, TwentyStatementsAreTheMost) {
  std::string policy;
  for (int i = 0; i < 20; ++i) {
    Added added = add(policy, fmt::format("l{}", i), {other}, {"SendMessage"});
    ASSERT_TRUE(added.ok) << i;
    policy = added.policy;
  }
  const Added added = add(policy, "l20", {other}, {"SendMessage"});
  EXPECT_EQ(added.refusal.fault, F::over_limit);
  EXPECT_EQ(added.refusal.text, "21 Statements were found, maximum allowed is 20.");
}

TEST(AddPermission, APolicyStaysWithinItsSize) {
  const Texts many(60, other);
  std::string policy;
  for (int i = 0;; ++i) {
    ASSERT_LT(i, 10);
    const Added added = add(policy, fmt::format("l{}", i), many, {"SendMessage"});
    if (!added.ok) {
      EXPECT_EQ(added.refusal.fault, F::over_limit);
      EXPECT_NE(added.refusal.text.find("maximum allowed is 8192"), std::string::npos);
      break;
    }
    policy = added.policy;
    ASSERT_LE(policy.size(), policy_bytes_max);
  }
}

TEST(RemovePermission, TakesTheStatementAndWithTheLastThePolicy) {
  const std::string two = add(one_statement, "more", {other}, {"*"}).policy;
  std::string out;
  Refusal refusal;
  ASSERT_TRUE(remove_permission(two, "more", out, refusal));
  EXPECT_EQ(out, one_statement);
  ASSERT_TRUE(remove_permission(one_statement, "label", out, refusal));
  EXPECT_EQ(out, "");
}

TEST(RemovePermission, RefusesALabelThatIsNotThere) {
  std::string out;
  for (const std::string_view policy : {std::string_view(), one_statement}) {
    Refusal refusal;
    EXPECT_FALSE(remove_permission(policy, "none", out, refusal));
    EXPECT_EQ(refusal.fault, F::invalid_parameter_value);
    EXPECT_EQ(refusal.text, "Value none for parameter Label is invalid. Reason: can't find label.");
  }
  Refusal refusal;
  EXPECT_FALSE(remove_permission(one_statement, "", out, refusal));
  EXPECT_EQ(refusal.fault, F::missing_parameter);
}

TEST(Permissions, APolicyThatCannotBeReadIsNotChanged) {
  for (const std::string_view policy :
       {"x", "[]", "{}", R"({"Statement":1})", R"({"Statement":[1]})", R"({"Statement":[{}])",
        R"({"Statement":[],"Statement":[]})"}) {
    SCOPED_TRACE(policy);
    std::string out;
    Refusal refusal;
    EXPECT_EQ(add(policy, "l", {other}, {"*"}).refusal.fault, F::invalid_attribute_value);
    EXPECT_FALSE(remove_permission(policy, "l", out, refusal));
    EXPECT_EQ(refusal.fault, F::invalid_attribute_value);
  }
}

TEST(Permissions, BatchesAreGrantedUnderTheNameOfTheSingle) {
  EXPECT_EQ(permission_for("SendMessageBatch"), "SendMessage");
  EXPECT_EQ(permission_for("DeleteMessageBatch"), "DeleteMessage");
  EXPECT_EQ(permission_for("ChangeMessageVisibilityBatch"), "ChangeMessageVisibility");
  EXPECT_EQ(permission_for("SendMessage"), "SendMessage");
  EXPECT_EQ(permission_for("Batch"), "");
  EXPECT_EQ(permission_for(""), "");
}

// --- evaluation: account 222222222222 requests SendMessage to the queue of 111111111111 ---

bool allows(std::string_view policy, std::string_view permission = "SendMessage") {
  return policy_allows(policy, {other, permission, arn});
}

// A policy of one statement with the given members; an empty member is left out.
std::string policy_with(std::string_view effect, std::string_view principal,
                        std::string_view action, std::string_view resource,
                        std::string_view more = "") {
  std::string out = fmt::format(R"({{"Statement":[{{"Effect":"{}")", effect);
  if (!principal.empty()) out += fmt::format(R"(,"Principal":{})", principal);
  if (!action.empty()) out += fmt::format(R"(,"Action":{})", action);
  if (!resource.empty()) out += fmt::format(R"(,"Resource":{})", resource);
  return out + std::string(more) + "}]}";
}

constexpr std::string_view any = R"("*")";

TEST(PolicyAllows, WhatAddPermissionGrantsAndNothingElse) {
  EXPECT_TRUE(allows(one_statement));
  EXPECT_FALSE(allows(one_statement, "ReceiveMessage"));
  EXPECT_FALSE(policy_allows(one_statement, {"333333333333", "SendMessage", arn}));
  EXPECT_FALSE(policy_allows(one_statement, {other, "SendMessage", std::string(arn) + "2"}));
  EXPECT_FALSE(policy_allows(one_statement, {other, "", arn})) << "the owner's actions";
  EXPECT_FALSE(allows(""));
}

// A part of a statement: `allows` with Effect Allow; `denies`, with Deny, an otherwise allowed
// request.
struct PartCase {
  std::string_view part;
  bool allows, denies;
};

void check_parts(std::span<const PartCase> cases, std::string_view member) {
  const std::string_view everything =
      R"({"Effect":"Allow","Principal":"*","Action":"*","Resource":"*"})";
  for (const PartCase& c : cases) {
    SCOPED_TRACE(c.part);
    const auto pick = [&](std::string_view name) { return member == name ? c.part : any; };
    const auto policy = [&](std::string_view effect) {
      return policy_with(effect, pick("Principal"), pick("Action"), pick("Resource"),
                         pick("more") == any ? "" : c.part);
    };
    EXPECT_EQ(allows(policy("Allow")), c.allows);
    std::string denying = policy("Deny");
    EXPECT_FALSE(allows(denying)) << "alone";
    denying.insert(denying.size() - 2, fmt::format(",{}", everything));
    EXPECT_EQ(!allows(denying), c.denies) << denying;
  }
}

TEST(PolicyAllows, ThePrincipalsThatAreTheAccount) {
  constexpr PartCase cases[] = {
      {R"("*")",                                                  true,  true },
      {R"({"AWS":"*"})",                                          true,  true },
      {R"({"AWS":"222222222222"})",                               true,  true },
      {R"({"AWS":"arn:aws:iam::222222222222:root"})",             true,  true },
      {R"({"AWS":["333333333333","222222222222"]})",              true,  true },
      {R"({"Service":"sns.amazonaws.com","AWS":"222222222222"})", true,  true },
      {R"({"AWS":"333333333333"})",                               false, false},
      {R"({"AWS":"arn:aws:iam::333333333333:root"})",             false, false},
      {R"({"AWS":[]})",                                           false, false},
      {R"({})",                                                   false, false},
      {R"({"Service":"sns.amazonaws.com"})",                      false, false},
      {R"({"Federated":"cognito-identity.amazonaws.com"})",       false, false},
      // Part of the account, a pattern, or no principal at all: never allows, always denies.
      {R"({"AWS":"arn:aws:iam::222222222222:user/bob"})",         false, true },
      {R"({"AWS":"arn:aws:sts::222222222222:assumed-role/r/s"})", false, true },
      {R"({"AWS":"arn:aws:iam::*:root"})",                        false, true },
      {R"({"AWS":"arn:aws-cn:iam::222222222222:root"})",          false, true },
      {R"({"AWS":22})",                                           false, true },
      {R"({"AWS":[22]})",                                         false, true },
      {R"({"CanonicalUser":"x"})",                                false, true },
      {R"({"AWS":"333333333333","AWS":"333333333333"})",          false, true },
      {R"("222222222222")",                                       false, true },
      {R"(["*"])",                                                false, true },
      {R"(null)",                                                 false, true },
      {"",                                                        false, true },
  };
  check_parts(cases, "Principal");
}

TEST(PolicyAllows, TheActionsThatAreTheAction) {
  constexpr PartCase cases[] = {
      {R"("*")",                                true,  true },
      {R"("SQS:*")",                            true,  true },
      {R"("sqs:*")",                            true,  true },
      {R"("sqs:SendMessage")",                  true,  true },
      {R"("SQS:sendmessage")",                  true,  true },
      {R"("sqs:Send*")",                        true,  true },
      {R"("sqs:*Message")",                     true,  true },
      {R"("sqs:S?ndMessag?")",                  true,  true },
      {R"("s*s:*e*e*")",                        true,  true },
      {R"(["sqs:ReceiveMessage","sqs:Send*"])", true,  true },
      {R"("sqs:ReceiveMessage")",               false, false},
      {R"("sqs:SendMessage?")",                 false, false},
      {R"("sqs:SendMessages")",                 false, false},
      {R"("sqs:SendMessag")",                   false, false},
      {R"("sqs:SendMessageBatch")",             false, false},
      {R"("sns:*")",                            false, false},
      {R"("SendMessage")",                      false, false},
      {R"("")",                                 false, false},
      {R"([])",                                 false, false},
      {R"("sqs:${x}")",                         false, true },
      {R"([1])",                                false, true },
      {R"({})",                                 false, true },
      {"",                                      false, true },
  };
  check_parts(cases, "Action");
}

TEST(PolicyAllows, TheResourcesThatAreTheQueue) {
  constexpr PartCase cases[] = {
      {R"("*")",                                               true,  true },
      {R"("arn:aws:sqs:us-east-1:111111111111:q")",            true,  true },
      {R"("arn:aws:sqs:*:111111111111:q")",                    true,  true },
      {R"("arn:aws:sqs:us-east-1:111111111111:*")",            true,  true },
      {R"(["x","arn:aws:sqs:us-east-1:111111111111:?"])",      true,  true },
      {R"("arn:aws:sqs:us-east-1:111111111111:Q")",            false, false},
      {R"("arn:aws:sqs:us-east-1:111111111111:q2")",           false, false},
      {R"("arn:aws:sqs:us-east-1:222222222222:q")",            false, false},
      {R"("arn:aws:sqs:us-west-2:111111111111:q")",            false, false},
      {R"("q")",                                               false, false},
      {R"("arn:aws:sqs:us-east-1:${aws:PrincipalAccount}:q")", false, true },
      {R"({"a":"*"})",                                         false, true },
      {"",                                                     false, true },
  };
  check_parts(cases, "Resource");
}

TEST(PolicyAllows, WhatIsNotUnderstoodNeverAllowsAndAlwaysDenies) {
  constexpr PartCase cases[] = {
      {R"(,"Sid":"label")",                                       true,  true},
      {R"(,"Condition":{"Bool":{"aws:SecureTransport":"true"}})", false, true},
      {R"(,"Condition":{})",                                      false, true},
      {R"(,"NotPrincipal":{"AWS":"333333333333"})",               false, true},
      {R"(,"NotAction":"sqs:DeleteQueue")",                       false, true},
      {R"(,"NotResource":"x")",                                   false, true},
      {R"(,"Conditions":1)",                                      false, true},
      {R"(,"condition":{})",                                      false, true},
  };
  check_parts(cases, "more");
}

TEST(PolicyAllows, ADenyWinsWhereverItStands) {
  constexpr std::string_view yes =
      R"({"Effect":"Allow","Principal":"*","Action":"*","Resource":"*"})";
  constexpr std::string_view no =
      R"({"Effect":"Deny","Principal":"*","Action":"sqs:SendMessage","Resource":"*"})";
  const auto policy = [](auto... statements) {
    return fmt::format(R"({{"Statement":[{}]}})", join_texts(Texts{statements...}, ","));
  };
  EXPECT_TRUE(allows(policy(yes)));
  EXPECT_TRUE(allows(policy(yes, yes)));
  EXPECT_FALSE(allows(policy(yes, no)));
  EXPECT_FALSE(allows(policy(no, yes)));
  EXPECT_FALSE(allows(policy(no)));
  EXPECT_TRUE(allows(policy(no, yes), "ReceiveMessage"));
  EXPECT_TRUE(allows(fmt::format(R"({{"Statement":{}}})", yes))) << "one statement without a list";
}

TEST(PolicyAllows, APolicyThatCannotBeReadAllowsNothing) {
  constexpr std::string_view yes =
      R"({"Effect":"Allow","Principal":"*","Action":"*","Resource":"*"})";
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  const std::string bad[] = {
      "x",
      "[]",
      "{}",
      "null",
      fmt::format(R"({{"Statement":[{},1]}})", yes),
      fmt::format(R"({{"Statement":[{}]}} )", yes) + "x",
      fmt::format(R"({{"Statement":[{}],"Statement":[]}})", yes),
      fmt::format(R"({{"Statement":[{0},{{"Effect":"allow"}}]}})", yes),
      fmt::format(R"({{"Statement":[{0},{{"Sid":"no effect"}}]}})", yes),
      fmt::format(R"({{"Statement":[{0},{{"Effect":"Deny","Effect":"Allow"}}]}})", yes),
      fmt::format(R"({{"Statement":[{}],"x":{}}})", yes, deep),
  };
  ASSERT_TRUE(allows(fmt::format(R"({{"Statement":[{}]}})", yes)));
  for (const std::string& policy : bad) EXPECT_FALSE(allows(policy)) << policy;
}

// A naive matcher would take exponential time for these patterns.
TEST(PolicyAllows, PatternsOfManyStarsEnd) {
  std::string pattern;
  for (int i = 0; i < 2000; ++i) pattern += "*a";
  EXPECT_FALSE(allows(policy_with("Allow", any, any, fmt::format("\"{}\"", pattern))));
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Access to every action: by the owner, by another account, and on a queue that does not exist.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "proto/auth/keys.h"
#include "proto/sqs/model.h"
#include "proto/sqs/policy.h"
#include "tests/proto/auth/signer.h"
#include "tests/proto/sqs/fixture.h"

namespace pawl {
namespace {

using test::SignedRequest;
using test::Signer;

constexpr std::string_view ann = "111111111111";  // has queue q
constexpr std::string_view bob = "222222222222";

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += with.size()) {
    text.replace(at, what.size(), with);
  }
  return text;
}

class SqsAccess : public SqsTest {
 protected:
  SqsAccess() {
    const auto keys = std::make_shared<Keyring>();
    for (const std::string_view account : {ann, bob}) {
      const Signer signer = signer_of(account);
      EXPECT_EQ(keys->add({signer.id, signer.secret, std::string(account)}), KeyFault::none);
    }
    config.keys = keys;
    now = Signer().at;
    EXPECT_EQ(as(ann, "CreateQueue", R"({"QueueName":"q"})").status, 200);
  }

  static Signer signer_of(std::string_view account) {
    Signer signer;
    signer.id = fmt::format("AKID{}", account);
    signer.secret = fmt::format("secret{}", account);
    return signer;
  }

  static SignedRequest json_request(std::string_view action, std::string_view body) {
    SignedRequest request;
    request.headers = {
        {"host", "broker.test:9324"},
        {"content-type", "application/x-amz-json-1.0"},
        {"x-amz-target", fmt::format("AmazonSQS.{}", action)},
        {"x-amzn-query-mode", "true"},
    };
    request.body = body;
    return request;
  }

  SqsResponse send(const SignedRequest& request) { return http(request.head(), request.body); }

  SqsResponse as(std::string_view account, std::string_view action, std::string_view body) {
    return send(signer_of(account).sign(json_request(action, body)));
  }

  SqsResponse query_as(std::string_view account, std::string_view form, std::string_view path) {
    SignedRequest request;
    request.path = path;
    request.headers.emplace_back("content-type", "application/x-www-form-urlencoded");
    request.body = form;
    return send(signer_of(account).sign(request));
  }

  void set_policy(std::string_view policy) {
    auto changed = std::make_shared<QueueConfig>(**broker.directory.find(ann, "q"));
    changed->apply({Attribute::policy, -1, std::string(policy)});
    broker.directory.put(changed);
  }
  void allow_bob(std::string_view action) {
    set_policy(fmt::format(
        R"({{"Statement":[{{"Effect":"Allow","Principal":{{"AWS":"{}"}},"Action":"sqs:{}","Resource":"*"}}]}})",
        bob, action));
  }

  static std::string denied(std::string_view resource) {
    return error_json("com.amazon.coral.service#AccessDeniedException",
                      fmt::format("Access to the resource {} is denied.", resource));
  }
};

// An action on a queue. `call` has its members; ACCOUNT and NAME stand for the queue's.
struct QueueCall {
  std::string_view action, call;
  bool owners_only = false;
};
constexpr QueueCall queue_calls[] = {
    {"DeleteQueue", R"({"QueueUrl":"http://h/ACCOUNT/NAME"})", true},
    {"PurgeQueue", R"({"QueueUrl":"http://h/ACCOUNT/NAME"})"},
    {"GetQueueAttributes", R"({"QueueUrl":"http://h/ACCOUNT/NAME","AttributeNames":["All"]})"},
    {"SetQueueAttributes",
     R"({"QueueUrl":"http://h/ACCOUNT/NAME","Attributes":{"DelaySeconds":"1"}})", true},
    {"SendMessage", R"({"QueueUrl":"http://h/ACCOUNT/NAME","MessageBody":"m"})"},
    {"SendMessageBatch",
     R"({"QueueUrl":"http://h/ACCOUNT/NAME","Entries":[{"Id":"1","MessageBody":"m"}]})"},
    {"ReceiveMessage", R"({"QueueUrl":"http://h/ACCOUNT/NAME"})"},
    {"DeleteMessage", R"({"QueueUrl":"http://h/ACCOUNT/NAME","ReceiptHandle":"x"})"},
    {"DeleteMessageBatch",
     R"({"QueueUrl":"http://h/ACCOUNT/NAME","Entries":[{"Id":"1","ReceiptHandle":"x"}]})"},
    {"ChangeMessageVisibility",
     R"({"QueueUrl":"http://h/ACCOUNT/NAME","ReceiptHandle":"x","VisibilityTimeout":1})"},
    {"ChangeMessageVisibilityBatch",
     R"({"QueueUrl":"http://h/ACCOUNT/NAME","Entries":[{"Id":"1","ReceiptHandle":"x","VisibilityTimeout":1}]})"},
    {"ListDeadLetterSourceQueues", R"({"QueueUrl":"http://h/ACCOUNT/NAME"})"},
    {"TagQueue", R"({"QueueUrl":"http://h/ACCOUNT/NAME","Tags":{"k":"v"}})", true},
    {"UntagQueue", R"({"QueueUrl":"http://h/ACCOUNT/NAME","TagKeys":["k"]})", true},
    {"ListQueueTags", R"({"QueueUrl":"http://h/ACCOUNT/NAME"})", true},
    {"AddPermission",
     R"({"QueueUrl":"http://h/ACCOUNT/NAME","Label":"l","AWSAccountIds":["222222222222"],"Actions":["*"]})",
     true},
    {"RemovePermission", R"({"QueueUrl":"http://h/ACCOUNT/NAME","Label":"l"})", true},
};

std::string on(const QueueCall& call, std::string_view account, std::string_view name) {
  return replaced(replaced(std::string(call.call), "ACCOUNT", account), "NAME", name);
}

// Past the question of access: done, or refused for what only somebody with access is told.
bool let_in(const SqsResponse& answer) {
  return answer.status == 200 || answer.body.contains("ReceiptHandleIsInvalid") ||
         answer.body.contains("can't find label");
}

TEST_F(SqsAccess, TheTableHasEveryActionThatTakesAQueueUrl) {
  std::size_t on_queue = 0;
  for (int i = 1; i <= static_cast<int>(SqsAction::list_message_move_tasks); ++i) {
    const SqsActionInfo& action = info(static_cast<SqsAction>(i));
    on_queue += action.on_queue;
    if (!action.on_queue) continue;
    const auto row = std::ranges::find(queue_calls, action.name, &QueueCall::action);
    ASSERT_NE(row, std::end(queue_calls)) << action.name;
    EXPECT_EQ(row->owners_only, permission_for(action.name).empty()) << action.name;
  }
  EXPECT_EQ(on_queue, std::size(queue_calls));
}

TEST_F(SqsAccess, AnOwnerMayDoEverythingToAQueue) {
  for (const QueueCall& row : queue_calls) {
    SCOPED_TRACE(row.action);
    ASSERT_EQ(as(ann, "CreateQueue", R"({"QueueName":"q"})").status, 200);
    const SqsResponse answer = as(ann, row.action, on(row, ann, "q"));
    EXPECT_TRUE(let_in(answer)) << answer.body;
    EXPECT_EQ(
        as(ann, row.action, on(row, ann, "none")).body,
        error_json("com.amazonaws.sqs#QueueDoesNotExist", "The specified queue does not exist."));
  }
}

TEST_F(SqsAccess, OthersMayDoNothingAndDoNotLearnWhichQueuesThereAre) {
  for (const QueueCall& row : queue_calls) {
    SCOPED_TRACE(row.action);
    for (const std::string_view name : {"q", "none"}) {
      const auto before = broker.seen;
      const SqsResponse answer = as(bob, row.action, on(row, ann, name));
      EXPECT_EQ(answer.status, 403);
      EXPECT_EQ(answer.body, denied(fmt::format("http://h/{}/{}", ann, name)));
      EXPECT_EQ(answer.header("x-amzn-query-error"), "AccessDenied;Sender");
      EXPECT_EQ(broker.seen, before) << "nothing is routed";
    }
  }
}

TEST_F(SqsAccess, AnAccountThatIsNoneIsAnothersToo) {
  for (const std::string_view account : {"333333333333", "queue", "000000000000"}) {
    EXPECT_EQ(as(ann, "SendMessage", on(queue_calls[4], account, "q")).body,
              denied(fmt::format("http://h/{}/q", account)));
  }
}

TEST_F(SqsAccess, APolicyThatAllowsEverythingKeepsTheOwnersActions) {
  for (const QueueCall& row : queue_calls) {
    SCOPED_TRACE(row.action);
    allow_bob("*");
    const SqsResponse answer = as(bob, row.action, on(row, ann, "q"));
    EXPECT_EQ(let_in(answer), !row.owners_only) << answer.body;
    if (row.owners_only) {
      EXPECT_EQ(answer.body, denied("http://h/111111111111/q"));
    }
  }
}

TEST_F(SqsAccess, APolicyAllowsWhatItNames) {
  for (const QueueCall& granted : queue_calls) {
    if (granted.owners_only) continue;
    allow_bob(permission_for(granted.action));
    for (const QueueCall& row : queue_calls) {
      SCOPED_TRACE(fmt::format("{} granted, {} called", granted.action, row.action));
      const bool same = permission_for(row.action) == permission_for(granted.action);
      EXPECT_EQ(let_in(as(bob, row.action, on(row, ann, "q"))), same);
    }
  }
}

TEST_F(SqsAccess, WhatAddPermissionGrantsIsGrantedUntilItIsRemoved) {
  const QueueCall& send_message = queue_calls[4];
  ASSERT_EQ(
      as(ann, "AddPermission",
         R"({"QueueUrl":"q","Label":"l","AWSAccountIds":["222222222222"],"Actions":["SendMessage"]})")
          .status,
      200);
  EXPECT_EQ(as(bob, "SendMessage", on(send_message, ann, "q")).status, 200);
  EXPECT_EQ(as(bob, "ReceiveMessage", on(send_message, ann, "q")).status, 403);
  ASSERT_EQ(as(ann, "RemovePermission", R"({"QueueUrl":"q","Label":"l"})").status, 200);
  EXPECT_EQ(as(bob, "SendMessage", on(send_message, ann, "q")).status, 403);
}

TEST_F(SqsAccess, AQueueIsMadeAndListedInTheCallersAccount) {
  EXPECT_EQ(as(bob, "CreateQueue", R"({"QueueName":"q"})").body,
            R"({"QueueUrl":"http://broker.test:9324/222222222222/q"})");
  EXPECT_EQ(as(bob, "CreateQueue", R"({"QueueName":"mine"})").status, 200);
  EXPECT_EQ(as(ann, "ListQueues", "{}").body,
            R"({"QueueUrls":["http://broker.test:9324/111111111111/q"]})");
  EXPECT_EQ(as(bob, "ListQueues", "{}").body,
            R"({"QueueUrls":["http://broker.test:9324/222222222222/mine",)"
            R"("http://broker.test:9324/222222222222/q"]})");
  // Without an account, a name is the caller's.
  EXPECT_EQ(as(bob, "DeleteQueue", R"({"QueueUrl":"q"})").status, 200);
  EXPECT_NE(broker.directory.find(ann, "q"), nullptr);
  EXPECT_EQ(broker.directory.find(bob, "q"), nullptr);
}

TEST_F(SqsAccess, GetQueueUrlSaysThatOthersHaveNoQueueUnlessAllowed) {
  const std::string none =
      error_json("com.amazonaws.sqs#QueueDoesNotExist", "The specified queue does not exist.");
  const auto url = [&](std::string_view name) {
    return as(bob, "GetQueueUrl",
              fmt::format(R"({{"QueueName":"{}","QueueOwnerAWSAccountId":"{}"}})", name, ann))
        .body;
  };
  EXPECT_EQ(url("q"), none);
  EXPECT_EQ(url("none"), none);
  allow_bob("GetQueueUrl");
  EXPECT_EQ(url("q"), R"({"QueueUrl":"http://broker.test:9324/111111111111/q"})");
  EXPECT_EQ(as(ann, "GetQueueUrl", R"({"QueueName":"q"})").body, url("q"));
  EXPECT_EQ(as(bob, "GetQueueUrl", R"({"QueueName":"q"})").body, none);
}

TEST_F(SqsAccess, MoveTasksAreOfTheOwnerOrAllowed) {
  constexpr std::string_view arn = R"("SourceArn":"arn:aws:sqs:us-east-1:111111111111:NAME")";
  const auto move = [&](std::string_view account, std::string_view action, std::string_view name) {
    return as(account, action, replaced(fmt::format("{{{}}}", arn), "NAME", name));
  };
  // q is somebody's dead-letter queue.
  ASSERT_EQ(as(ann, "CreateQueue",
               R"({"QueueName":"src","Attributes":{"RedrivePolicy":"{\"maxReceiveCount\":1,)"
               R"(\"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:111111111111:q\"}"}})")
                .status,
            200);
  for (const std::string_view action : {"StartMessageMoveTask", "ListMessageMoveTasks"}) {
    SCOPED_TRACE(action);
    EXPECT_EQ(move(ann, action, "q").status, 200);
    EXPECT_TRUE(move(ann, action, "none").body.contains("ResourceNotFoundException"));
    for (const std::string_view name : {"q", "none"}) {
      EXPECT_EQ(move(bob, action, name).body, denied(name));
    }
    allow_bob("*");
    EXPECT_EQ(move(bob, action, "q").status, 200);
    allow_bob(action);
    EXPECT_EQ(move(bob, action, "q").status, action.starts_with("List") ? 200 : 403)
        << "who moves messages away must be allowed to take them";
    set_policy("");
  }
}

TEST_F(SqsAccess, AMoveToAnotherAccountsQueueNeedsItsLeave) {
  ASSERT_EQ(as(bob, "CreateQueue", R"({"QueueName":"dlq"})").status, 200);
  ASSERT_EQ(as(bob, "CreateQueue",
               R"({"QueueName":"src","Attributes":{"RedrivePolicy":"{\"maxReceiveCount\":1,)"
               R"(\"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:222222222222:dlq\"}"}})")
                .status,
            200);
  const auto move = [&](std::string_view to) {
    return as(bob, "StartMessageMoveTask",
              fmt::format(R"({{"SourceArn":"arn:aws:sqs:us-east-1:222222222222:dlq",)"
                          R"("DestinationArn":"arn:aws:sqs:us-east-1:111111111111:{}"}})",
                          to))
        .body;
  };
  EXPECT_EQ(move("q"), denied("q"));
  EXPECT_EQ(move("none"), denied("none"));
  allow_bob("SendMessage");
  EXPECT_TRUE(move("q").contains("TaskHandle")) << move("q");
}

TEST_F(SqsAccess, AMoveTaskOfAnotherIsNone) {
  ASSERT_EQ(as(ann, "CreateQueue",
               R"({"QueueName":"src","Attributes":{"RedrivePolicy":"{\"maxReceiveCount\":1,)"
               R"(\"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:111111111111:q\"}"}})")
                .status,
            200);
  const SqsResponse started =
      as(ann, "StartMessageMoveTask", R"({"SourceArn":"arn:aws:sqs:us-east-1:111111111111:q"})");
  ASSERT_EQ(started.status, 200) << started.body;
  const SqsResponse refused = as(bob, "CancelMessageMoveTask", started.body);
  EXPECT_EQ(refused.status, 404);
  EXPECT_EQ(broker.seen[Op::cancel_move], 0);
  allow_bob("CancelMessageMoveTask");
  EXPECT_EQ(as(bob, "CancelMessageMoveTask", started.body).status, 200);
  EXPECT_EQ(as(ann, "CancelMessageMoveTask", started.body).status, 200);
}

TEST_F(SqsAccess, ADeadLetterQueueOfAnotherIsRefusedThereOrNot) {
  std::string bodies[2];
  for (int i = 0; i < 2; ++i) {
    bodies[i] =
        as(bob, "CreateQueue",
           fmt::format(
               R"({{"QueueName":"src","Attributes":{{"RedrivePolicy":"{{\"maxReceiveCount\":1,)"
               R"(\"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:111111111111:{}\"}}"}}}})",
               i == 0 ? "q" : "n"))
            .body;
    EXPECT_TRUE(bodies[i].contains("owner should be same")) << bodies[i];
  }
  EXPECT_EQ(bodies[0], replaced(bodies[1], "111:n", "111:q"));
}

TEST_F(SqsAccess, TheSenderOfAMessageIsTheAccountThatSignedIt) {
  allow_bob("*");
  const QueueCall& send_message = queue_calls[4];
  const auto sender = [&](std::string_view account) {
    EXPECT_EQ(as(account, "SendMessage", on(send_message, ann, "q")).status, 200);
    return std::string(broker.last.sends.front().content.sender);
  };
  EXPECT_EQ(sender(bob), bob);
  EXPECT_EQ(sender(ann), "") << "which is shown as the queue's account";
}

TEST_F(SqsAccess, EveryWayToCallNeedsASignature) {
  const std::string_view missing = "The request must be signed with an access key.";
  const SqsResponse json = send(json_request("ListQueues", "{}"));
  EXPECT_EQ(json.status, 403);
  EXPECT_EQ(json.body,
            error_json("com.amazon.coral.service#MissingAuthenticationTokenException", missing));
  EXPECT_EQ(json.header("x-amzn-query-error"), "MissingAuthenticationToken;Sender");
  for (const SqsResponse& answer :
       {query("Action=ListQueues"), get("/111111111111/q?Action=ReceiveMessage"),
        get("/111111111111/q"), get("/?x"), query("", "/"), query("", "/111111111111/q")}) {
    EXPECT_EQ(answer.status, 403);
    EXPECT_TRUE(answer.body.contains("<Code>MissingAuthenticationToken</Code>")) << answer.body;
  }
  EXPECT_EQ(http("POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n", "{}").status,
            400)
      << "a JSON client that does not know the statuses of Query";
}

TEST_F(SqsAccess, WhetherTheServerIsUpIsToldToEverybody) {
  for (const std::string_view path : {"/", "/health"}) EXPECT_EQ(get(path).status, 200) << path;
  EXPECT_EQ(http("HEAD / HTTP/1.1\r\nHost: h\r\n", "").status, 200);
  EXPECT_EQ(http("OPTIONS / HTTP/1.1\r\nHost: h\r\n", "").status, 204);
  EXPECT_EQ(http("OPTIONS /111111111111/q?Action=PurgeQueue HTTP/1.1\r\nHost: h\r\n", "").status,
            204);
  EXPECT_EQ(http("GET / HTTP/1.1\r\nHost: h\r\nX-Amz-Target: AmazonSQS.ListQueues\r\n", "").status,
            400);
}

TEST_F(SqsAccess, AWrongSignatureAndAnUnknownKeyAreAnsweredAlike) {
  Signer wrong = signer_of(ann), unknown = signer_of(ann);
  wrong.secret += "x";
  unknown.id = "AKID333333333333";
  const SqsResponse one = send(wrong.sign(json_request("ListQueues", "{}")));
  const SqsResponse two = send(unknown.sign(json_request("ListQueues", "{}")));
  EXPECT_EQ(one.status, 403);
  EXPECT_EQ(one.header("x-amzn-query-error"), "SignatureDoesNotMatch;Sender");
  EXPECT_TRUE(one.body.contains("com.amazon.coral.service#InvalidSignatureException"));
  EXPECT_EQ(one.body, two.body);
  EXPECT_EQ(one.status, two.status);
}

TEST_F(SqsAccess, AWrongClockIsNamedAsSuch) {
  const SignedRequest request = signer_of(ann).sign(json_request("ListQueues", "{}"));
  const auto refused = [](const SqsResponse& answer, std::string_view text) {
    EXPECT_EQ(answer.status, 403);
    EXPECT_EQ(answer.header("x-amzn-query-error"), "SignatureDoesNotMatch;Sender");
    EXPECT_TRUE(answer.body.contains(text)) << answer.body;
  };
  const Instant signed_at = now;
  now = signed_at + seconds(900);
  EXPECT_EQ(send(request).status, 200);
  now = signed_at + seconds(1000);
  refused(send(request),
          "Signature expired: 20260102T030405Z is now earlier than 20260102T030545Z "
          "(20260102T032045Z - "
          "15 min.).");
  now = signed_at - seconds(900);
  EXPECT_EQ(send(request).status, 200);
  now = signed_at - seconds(1000);
  refused(send(request),
          "Signature not yet current: 20260102T030405Z is still later than 20260102T030225Z "
          "(20260102T024725Z + 15 min.).");
  SignedRequest presigned;
  presigned.method = "GET";
  presigned.path = "/111111111111/q";
  presigned.query = "Action=SendMessage&MessageBody=m";
  now = signed_at;
  presigned = signer_of(ann).presign(presigned, 90);
  now = signed_at + seconds(91);
  const SqsResponse late = send(presigned);
  EXPECT_EQ(late.status, 403);
  EXPECT_TRUE(late.body.contains("<Code>SignatureDoesNotMatch</Code>")) << late.body;
  EXPECT_TRUE(late.body.contains(" - 90 sec.).")) << late.body;
}

// The server's own time follows a changed wall clock at 500 ppm; signatures follow it at once.
TEST_F(SqsAccess, SignaturesAreComparedWithTheWallClock) {
  const SignedRequest request = signer_of(ann).sign(json_request("ListQueues", "{}"));
  wall_ahead = seconds(3600);
  now = now - wall_ahead;
  EXPECT_EQ(send(request).status, 200);
  now = now + wall_ahead;
  EXPECT_EQ(send(request).header("x-amzn-query-error"), "SignatureDoesNotMatch;Sender");
}

TEST_F(SqsAccess, SignedQueriesArePostedGottenAndPresigned) {
  EXPECT_EQ(query_as(ann, "Action=SendMessage&MessageBody=m", "/111111111111/q").status, 200);
  const SqsResponse answer = query_as(bob, "Action=SendMessage&MessageBody=m", "/111111111111/q");
  EXPECT_EQ(answer.status, 403);
  EXPECT_TRUE(answer.body.contains("<Code>AccessDenied</Code>")) << answer.body;
  SignedRequest request;
  request.method = "GET";
  request.path = "/111111111111/q";
  request.query = "Action=SendMessage&MessageBody=m";
  EXPECT_EQ(send(signer_of(ann).sign(request)).status, 200);
  EXPECT_EQ(send(signer_of(ann).presign(request, 60)).status, 200);
  EXPECT_EQ(send(signer_of(bob).presign(request, 60)).status, 403);
}

TEST_F(SqsAccess, WithoutKeysNobodyIsAskedAndSignaturesAreNotLookedAt) {
  config.keys = nullptr;
  EXPECT_EQ(send(json_request("SendMessage",
                              R"({"QueueUrl":"http://h/111111111111/q","MessageBody":"m"})"))
                .status,
            200);
  SignedRequest request = signer_of(bob).sign(json_request("ListQueues", "{}"));
  request.body = "{ }";
  EXPECT_EQ(send(request).status, 200);
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/sqs_client/signer.h"

#include <gtest/gtest.h>

#include "proto/auth/keys.h"
#include "proto/auth/sigv4.h"
#include "proto/http/parser.h"

namespace pawl {
namespace {

using sqs_client::PreparedHead;
using sqs_client::RequestSigner;
using sqs_client::SigningKey;

constexpr std::time_t noon = 1'767'355'200;  // 20260102T120000Z
constexpr std::time_t day = 86'400;

class SqsSigner : public testing::Test {
 protected:
  SqsSigner() { EXPECT_EQ(keys_.add({key_.id, key_.secret, "111111111111"}), KeyFault::none); }
  std::string signed_request(RequestSigner& signer, const std::string& body, std::time_t now) {
    const PreparedHead head = signer.head("SendMessage");
    std::string out = "bytes of an earlier request";
    const std::size_t begin = out.size();
    signer.append(out, head, body, now);
    return out.substr(begin);
  }
  // The server's own check.
  AuthFault verify(const std::string& text, std::time_t now) {
    HttpParser parser;
    std::size_t taken = 0;
    if (parser.feed(text, taken) != HttpParser::State::complete) return AuthFault::missing;
    Identity who;
    return verifier_.verify(parser.request(), keys_, Instant{now * 1000}, who);
  }

  const SigningKey key_{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG", ""};
  const SigningKey temporary_key_{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG", "IQoJb3JpZ2luX2VjE+/w=="};
  Keyring keys_;
  SignatureVerifier verifier_;
};

TEST_F(SqsSigner, SignsRequestsThatTheServerAccepts) {
  RequestSigner signer("127.0.0.1:9324", key_, "eu-west-1");
  for (const std::time_t now : {noon, noon + 1, noon + day, noon}) {
    for (const char* body : {"{}", "{\"MessageBody\":\"b\"}"})
      EXPECT_EQ(verify(signed_request(signer, body, now), now), AuthFault::none) << now << body;
  }
}

TEST_F(SqsSigner, SignsWithItsSecretAndItsBody) {
  RequestSigner wrong("127.0.0.1:9324", {"AKIDEXAMPLE", "another", ""}, "us-east-1");
  EXPECT_EQ(verify(signed_request(wrong, "{}", noon), noon), AuthFault::mismatch);
  RequestSigner right("127.0.0.1:9324", key_, "us-east-1");
  std::string altered = signed_request(right, "{\"a\":1}", noon);
  altered[altered.size() - 2] = '2';
  EXPECT_EQ(verify(altered, noon), AuthFault::mismatch);
}

TEST_F(SqsSigner, SignsTheSessionTokenOfATemporaryKey) {
  RequestSigner signer("127.0.0.1:9324", temporary_key_, "eu-west-1");
  std::string text = signed_request(signer, "{}", noon);
  const std::size_t token = text.find("\r\nX-Amz-Security-Token: IQoJb3JpZ2luX2VjE+/w==\r\n");
  ASSERT_NE(token, text.npos) << text;
  EXPECT_EQ(verify(text, noon), AuthFault::none) << "the server does not inspect it";
  text[text.find('+', token)] = '-';
  EXPECT_EQ(verify(text, noon), AuthFault::mismatch);
}

// The signatures were computed with hmac and hashlib of Python, after the steps of the IAM User
// Guide.
TEST_F(SqsSigner, AgreesWithSignaturesOfAnotherProgram) {
  const std::string body = "{\"QueueUrl\":\"http://sqs.eu-west-1.amazonaws.com/1/q\"}";
  const auto signature_of = [&](const SigningKey& key) {
    RequestSigner signer("sqs.eu-west-1.amazonaws.com:443", key, "eu-west-1");
    const std::string text = signed_request(signer, body, noon);
    const std::size_t at = text.find("SignedHeaders=");
    return text.substr(at, text.find("\r\n", at) - at);
  };
  EXPECT_EQ(signature_of(key_),
            "SignedHeaders=host;x-amz-date;x-amz-target, "
            "Signature=d6d3fc6431d30980bec7d1650a3cfda5fda5e3d33ce942b2742e0c80e19abb66");
  EXPECT_EQ(signature_of(temporary_key_),
            "SignedHeaders=host;x-amz-date;x-amz-security-token;x-amz-target, "
            "Signature=d0328f7c82e723a9fa5ef39017ea554476591bcf0a0cfbfcbd2c46ad14bfa791");
}

TEST_F(SqsSigner, SignsTheTargetOfAnotherApi) {
  RequestSigner signer("127.0.0.1:9324", key_, "us-east-1", sqs_client::pawl_api);
  std::string text = signed_request(signer, "{}", noon);
  EXPECT_NE(text.find("\r\nX-Amz-Target: Pawl.SendMessage\r\n"), text.npos) << text;
  EXPECT_EQ(verify(text, noon), AuthFault::none);
  text[text.find("Pawl.") + 1] = 'A';
  EXPECT_EQ(verify(text, noon), AuthFault::mismatch);
}

TEST_F(SqsSigner, SignsCallsOfTheQueryProtocol) {
  for (const SigningKey& key : {key_, temporary_key_}) {
    RequestSigner signer("127.0.0.1:9324", key, "eu-west-1", sqs_client::sns_api);
    std::string text = signed_request(signer, "Action=ListTopics&Version=2010-03-31", noon);
    EXPECT_EQ(text.find("Target"), text.npos) << text;
    EXPECT_NE(text.find("\r\nContent-Type: application/x-www-form-urlencoded; charset=utf-8\r\n"),
              text.npos);
    EXPECT_NE(text.find("/20260102/eu-west-1/sns/aws4_request"), text.npos);
    EXPECT_EQ(verify(text, noon), AuthFault::none);
    text.back() = '0';
    EXPECT_EQ(verify(text, noon), AuthFault::mismatch);
  }
}

TEST_F(SqsSigner, SignsActionsThatMethodAndPathName) {
  for (const SigningKey& key : {key_, temporary_key_}) {
    RequestSigner signer("127.0.0.1:9324", key, "eu-west-1", sqs_client::scheduler_api);
    for (const char* query : {"", "groupName=g.1_-", "MaxResults=100&NextToken=YQ%3D%3D"}) {
      const PreparedHead head =
          signer.head(sqs_client::RestAction{"GetSchedule", "GET", "/schedules/a.b_-", query});
      std::string text;
      signer.append(text, head, "", noon);
      const std::string question = *query == '\0' ? "" : "?";
      EXPECT_TRUE(text.starts_with("GET /schedules/a.b_-" + question + query + " HTTP/1.1\r\n"));
      EXPECT_NE(text.find("/20260102/eu-west-1/scheduler/aws4_request"), text.npos);
      EXPECT_EQ(text.find("Target"), text.npos);
      EXPECT_EQ(verify(text, noon), AuthFault::none) << query;
      text.replace(text.find("a.b"), 3, "a.c");
      EXPECT_EQ(verify(text, noon), AuthFault::mismatch);
    }
  }
}

TEST_F(SqsSigner, SignsTheMethodAndTheBodyOfAnAction) {
  RequestSigner signer("127.0.0.1:9324", key_, "eu-west-1", sqs_client::scheduler_api);
  std::string text;
  signer.append(text, signer.head(sqs_client::RestAction{"UpdateSchedule", "PUT", "/schedules/n"}),
                R"({"a":1})", noon);
  EXPECT_EQ(verify(text, noon), AuthFault::none) << text;
  EXPECT_EQ(verify("POST" + text.substr(3), noon), AuthFault::mismatch);
  text[text.size() - 2] = '2';
  EXPECT_EQ(verify(text, noon), AuthFault::mismatch);
}

TEST_F(SqsSigner, LeavesRequestsUnsignedWithoutAKey) {
  RequestSigner signer("127.0.0.1:9324", {"", "", "a-token"}, "eu-west-1");
  const std::string text = signed_request(signer, "{}", noon);
  EXPECT_NE(text.find("Credential=test/20260101/eu-west-1/sqs/aws4_request"), text.npos);
  EXPECT_NE(text.find("Signature=0000"), text.npos);
  EXPECT_EQ(text.find("a-token"), text.npos) << "a session token without its key";
}

}  // namespace
}  // namespace pawl

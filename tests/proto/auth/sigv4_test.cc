// SPDX-License-Identifier: Apache-2.0
#include "proto/auth/sigv4.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>
#include <tuple>

#include "tests/proto/auth/signer.h"

namespace pawl {
namespace {

using test::SignedRequest;
using test::Signer;
using F = AuthFault;

constexpr std::string_view account = "111111111111";
constexpr Instant signed_at{1'767'323'045'000};  // 20260102T030405Z

class SigV4 : public testing::Test {
 protected:
  SigV4() { add({}); }

  void add(const Signer& signer) {
    ASSERT_EQ(keys.add({signer.id, signer.secret, std::string(account)}), KeyFault::none);
  }

  F verify(std::string_view text, Instant now = signed_at) {
    HttpParser parser;
    const HttpRequest* request = test::parse(parser, text);
    if (request == nullptr) {
      ADD_FAILURE() << parser.error_text() << "\n" << text;
      return F::none;
    }
    who = {};
    const F fault = verifier.verify(*request, keys, now, who);
    EXPECT_EQ(fault == F::none, who.account == account) << text;
    return fault;
  }
  F verify(const SignedRequest& request, Instant now = signed_at) {
    return verify(request.text(), now);
  }

  Keyring keys;
  SignatureVerifier verifier;
  Identity who;
};

SignedRequest json_call() {
  SignedRequest request;
  request.headers.emplace_back("content-type", "application/x-amz-json-1.0");
  request.headers.emplace_back("x-amz-target", "AmazonSQS.SendMessage");
  request.body = R"({"QueueUrl":"q","MessageBody":"hello"})";
  return request;
}

SignedRequest presigned_call(int expires = 300) {
  SignedRequest request;
  request.method = "GET";
  request.path = "/000000000000/q1";
  request.query = "Action=SendMessage&MessageBody=hello%20world";
  return Signer().presign(request, expires);
}

// A fault of the head is one that the whole request would have, too.
TEST_F(SigV4, OfTheHeadTellsWhatTheBodyCannotChange) {
  const auto head = [&](const SignedRequest& request, bool& proven) {
    HttpParser parser;
    const HttpRequest* whole = test::parse(parser, request.text());
    HttpRequest one = whole != nullptr ? *whole : HttpRequest();
    one.body = {};
    return verifier.verify_head(one, keys, signed_at, proven);
  };
  SignedRequest named = json_call();
  std::string digest;
  for (const std::uint8_t byte : sha256(named.body)) digest += fmt::format("{:02x}", byte);
  named.headers.emplace_back("x-amz-content-sha256", digest);
  SignedRequest odd = json_call();
  odd.headers.emplace_back("x-amz-content-sha256", "UNSIGNED-PAYLOAD");
  Signer wrong, unknown, late;
  wrong.secret = "another";
  unknown.id = "NOBODY";
  late.at = signed_at - seconds(3600);
  const struct {
    const char* name;
    SignedRequest request;
    F fault;
    bool proven;
  } cases[] = {
      {"right, with the digest",   Signer().sign(named),       F::none,         true },
      {"right, without",           Signer().sign(json_call()), F::none,         false},
      {"wrong, with the digest",   wrong.sign(named),          F::mismatch,     false},
      {"unknown, with the digest", unknown.sign(named),        F::mismatch,     false},
      {"wrong, without",           wrong.sign(json_call()),    F::none,         false},
      {"unknown, without",         unknown.sign(json_call()),  F::none,         false},
      {"no digest at all",         Signer().sign(odd),         F::body_differs, false},
      {"an hour old",              late.sign(json_call()),     F::expired,      false},
      {"not signed",               json_call(),                F::missing,      false},
  };
  for (const auto& c : cases) {
    bool proven = !c.proven;
    EXPECT_EQ(head(c.request, proven), c.fault) << c.name;
    EXPECT_EQ(proven, c.proven) << c.name;
    if (c.fault == F::none) continue;
    EXPECT_EQ(verify(c.request), c.fault) << c.name;
  }
}

// Made by botocore's signer.
TEST_F(SigV4, AcceptsWhatOthersSign) {
  constexpr std::string_view scope = "AKIDEXAMPLE/20260102/us-east-1/sqs/aws4_request";
  const std::string json = fmt::format(
      "POST / HTTP/1.1\r\nHost: 127.0.0.1:9324\r\nX-Amz-Target: AmazonSQS.CreateQueue\r\n"
      "Content-Type: application/x-amz-json-1.0\r\nx-amzn-query-mode: true\r\n"
      "X-Amz-Date: 20260102T030405Z\r\nUser-Agent: not signed\r\n"
      "Authorization: AWS4-HMAC-SHA256 Credential={}, "
      "SignedHeaders=content-type;host;x-amz-date;x-amz-target;x-amzn-query-mode, Signature="
      "3be409cfd28701b3cd9c38b763973042dc0a6dbb0650932d99e72dea78ae031c\r\n"
      "Content-Length: 18\r\n\r\n{{\"QueueName\":\"q1\"}}",
      scope);
  EXPECT_EQ(verify(json), F::none);
  EXPECT_EQ(who.key_id, "AKIDEXAMPLE");
  const std::string query = fmt::format(
      "POST /000000000000/q1 HTTP/1.1\r\nHost: 127.0.0.1:9324\r\n"
      "Content-Type: application/x-www-form-urlencoded; charset=utf-8\r\n"
      "X-Amz-Date: 20260102T030405Z\r\n"
      "Authorization: AWS4-HMAC-SHA256 Credential={}, SignedHeaders=content-type;host;x-amz-date, "
      "Signature=432eed64217f9ac0f6e8fb0d80020c669dee85d31f234f5c68c66ff6c3d745b9\r\n"
      "Content-Length: 57\r\n\r\nAction=SendMessage&Version=2012-11-05&MessageBody=a+b",
      scope);
  EXPECT_EQ(verify(std::string(query).replace(query.find(": 57"), 4, ": 53")), F::none);
  const std::string presigned =
      "GET /000000000000/q1?Action=SendMessage&MessageBody=hello%20world&Version=2012-11-05"
      "&X-Amz-Algorithm=AWS4-HMAC-SHA256"
      "&X-Amz-Credential=AKIDEXAMPLE%2F20260102%2Fus-east-1%2Fsqs%2Faws4_request"
      "&X-Amz-Date=20260102T030405Z&X-Amz-Expires=300&X-Amz-SignedHeaders=host&X-Amz-Signature="
      "20d0104e57d90cea43fd522c855dd7d2a62fd907e3b2fb8bf4366fa95329fb77 HTTP/1.1\r\n"
      "Host: 127.0.0.1:9324\r\n\r\n";
  EXPECT_EQ(verify(presigned), F::none);
}

TEST_F(SigV4, AcceptsAnyRegionAndTheServicesThatThereAre) {
  struct Case {
    std::string region, service;
    F want;
  };
  const std::string longest(SignatureVerifier::region_max, 'r');
  const Case cases[] = {
      {"us-east-1",     "sqs",       F::none          },
      {"elasticmq",     "sqs",       F::none          },
      {"x",             "sns",       F::none          },
      {longest,         "scheduler", F::none          },
      {longest,         "sqs",       F::none          },
      {longest + "r",   "sqs",       F::bad_credential},
      {"",              "sqs",       F::bad_credential},
      {"us-east-1",     "s3",        F::bad_credential},
      {"us-east-1",     "",          F::bad_credential},
      {"us-east-1/sqs", "sqs",       F::bad_credential},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(fmt::format("{} {}", c.region, c.service));
    Signer signer;
    signer.region = c.region;
    signer.service = c.service;
    EXPECT_EQ(verify(signer.sign(json_call())), c.want);
    EXPECT_EQ(verify(signer.sign(json_call())), c.want) << "with the derived key kept";
  }
}

TEST_F(SigV4, TagKeysAloneMayBeRepeatedAndByDeletesAlone) {
  const auto request = [](std::string_view method, std::string_view query) {
    SignedRequest made{.method = std::string(method),
                       .path = "/tags/arn%3Aaws%3Ascheduler",
                       .query = std::string(query)};
    return made;
  };
  Signer signer;
  signer.service = "scheduler";
  // The signer takes a path in its canonical form, which escapes it once more.
  const auto verified = [&](SignedRequest made) {
    const std::string path = made.path;
    made.path = "/tags/arn%253Aaws%253Ascheduler";
    made = signer.sign(made);
    made.path = path;
    return verify(made);
  };
  EXPECT_EQ(verified(request("DELETE", "TagKeys=a&TagKeys=b")), F::none);
  EXPECT_EQ(verified(request("DELETE", "A=a&A=b")), F::bad_query);
  EXPECT_EQ(verified(request("GET", "TagKeys=a&TagKeys=b")), F::bad_query);
  SignedRequest swapped = signer.sign(request("DELETE", "TagKeys=a&TagKeys=b"));
  swapped.query = "TagKeys=a&TagKeys=c";
  EXPECT_EQ(verify(swapped), F::mismatch);
}

TEST_F(SigV4, AHeaderIsValidFifteenMinutesBothWays) {
  const SignedRequest request = Signer().sign(json_call());
  constexpr Duration most = seconds(900);
  EXPECT_EQ(verify(request, signed_at + most), F::none);
  EXPECT_EQ(verify(request, signed_at + most + milliseconds(1)), F::expired);
  EXPECT_EQ(verify(request, signed_at - most), F::none);
  EXPECT_EQ(verify(request, signed_at - most - milliseconds(1)), F::not_yet_valid);
}

TEST_F(SigV4, APresignedQueryIsValidAsLongAsItSays) {
  for (const int expires : {1, 300, 604'800}) {
    SCOPED_TRACE(expires);
    const SignedRequest request = presigned_call(expires);
    EXPECT_EQ(verify(request, signed_at + seconds(expires)), F::none);
    EXPECT_EQ(verify(request, signed_at + seconds(expires) + milliseconds(1)), F::expired);
    EXPECT_EQ(verify(request, signed_at - seconds(900)), F::none);
    EXPECT_EQ(verify(request, signed_at - seconds(901)), F::not_yet_valid);
  }
  for (const int expires : {0, -1, 604'801, 1'000'000}) {
    EXPECT_EQ(verify(presigned_call(expires)), F::bad_expires) << expires;
  }
}

TEST_F(SigV4, AcceptsDatesThatAreAndNoOthers) {
  struct Case {
    const char* date;
    F want;
  };
  constexpr Case cases[] = {
      {"20260102T030405Z",  F::mismatch}, // the date is fine, but not what was signed
      {"20260102T030406Z",  F::mismatch},
      {"20260103T030405Z",  F::bad_date}, // not the credential's day
      {"20260102T240000Z",  F::bad_date},
      {"20260102T036005Z",  F::bad_date},
      {"20260102T030460Z",  F::bad_date},
      {"20260102T030405",   F::bad_date},
      {"20260102T030405ZZ", F::bad_date},
      {"20260102 030405Z",  F::bad_date},
      {"20260102T03 405Z",  F::bad_date},
      {"20260102T0304-5Z",  F::bad_date},
      {"20261302T030405Z",  F::bad_date},
      {"20260230T030405Z",  F::bad_date},
      {"Fri, 02 Jan 2026",  F::bad_date},
      {"",                  F::bad_date},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.date);
    SignedRequest request = Signer().sign(json_call());
    request.headers.emplace_back("x-seen", "1");  // not signed, so of no account
    *request.header("x-amz-date") = c.date;
    if (c.want == F::mismatch) request.body += " ";
    EXPECT_EQ(verify(request), c.want);
  }
}

TEST_F(SigV4, DaysOfLeapYearsAreDays) {
  Signer signer;
  signer.at = Instant{1'709'164'800'000};  // 20240229T000000Z
  ASSERT_EQ(signer.date(), "20240229T000000Z");
  EXPECT_EQ(verify(signer.sign(json_call()), signer.at), F::none);
}

// Each changes a signed request after the fact.
TEST_F(SigV4, RefusesARequestThatIsNotTheOneSigned) {
  struct Case {
    const char* name;
    F want;
    void (*change)(SignedRequest&);
  };
  const Case cases[] = {
      {"method",          F::mismatch,           [](SignedRequest& r) { r.method = "GET"; }                   },
      {"path",            F::mismatch,           [](SignedRequest& r) { r.path = "/q"; }                      },
      {"query",           F::mismatch,           [](SignedRequest& r) { r.query = "a=1"; }                    },
      {"body",            F::mismatch,           [](SignedRequest& r) { r.body[3] ^= 1; }                     },
      {"longer body",     F::mismatch,           [](SignedRequest& r) { r.body += ' '; }                      },
      {"no body",         F::mismatch,           [](SignedRequest& r) { r.body.clear(); }                     },
      {"host",            F::mismatch,           [](SignedRequest& r) { *r.header("host") = "evil:1"; }       },
      {"target",          F::mismatch,
       [](SignedRequest& r) { *r.header("x-amz-target") = "AmazonSQS.PurgeQueue"; }                           },
      {"lost header",     F::bad_signed_headers,
       [](SignedRequest& r) { r.headers.erase(r.headers.begin() + 1); }                                       },
      {"doubled header",  F::bad_signed_headers,
       [](SignedRequest& r) { r.headers.push_back(r.headers[1]); }                                            },
      {"doubled date",    F::bad_date,           [](SignedRequest& r) { r.headers.push_back(r.headers[3]); }  },
      {"one x-amz- more", F::unsigned_header,
       [](SignedRequest& r) { r.headers.emplace_back("X-Amz-Security-Token", "t"); }                          },
      {"any header more", F::none,
       [](SignedRequest& r) { r.headers.emplace_back("x-amzn-more", "t"); }                                   },
      {"header case",     F::none,               [](SignedRequest& r) { r.headers[1].first = "CONTENT-Type"; }},
      {"blanks outside",  F::none,               [](SignedRequest& r) { r.headers[1].second += " \t "; }      },
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    SignedRequest request = Signer().sign(json_call());
    ASSERT_EQ(verify(request), F::none);
    c.change(request);
    EXPECT_EQ(verify(request), c.want);
  }
}

// Each replaces a part of the Authorization header; all else is right.
TEST_F(SigV4, RefusesAnAuthorizationThatIsNotOfTheGrammar) {
  struct Case {
    std::string_view part, with;
    F want;
  };
  constexpr Case cases[] = {
      {"",                   "",                             F::none              },
      {", ",                 ",",                            F::none              },
      {"AWS4-HMAC-SHA256",   "AWS4-HMAC-SHA1",               F::bad_form          },
      {"AWS4-HMAC-SHA256 ",  "",                             F::bad_form          },
      {"AWS4-HMAC-SHA256 ",  "Basic ",                       F::bad_form          },
      {"Credential=",        "credential=",                  F::bad_form          },
      {"Credential=",        "Credential=x, Credential=",    F::bad_form          },
      {"SignedHeaders=",     "Other=",                       F::bad_form          },
      {"Signature=",         "Signature",                    F::bad_form          },
      {"Signature=",         "Signature=A",                  F::bad_form          },
      {"Signature=",         "Signature= ",                  F::bad_form          },
      {", Signature=",       ", Signature=, X=",             F::bad_form          },
      {"AKIDEXAMPLE/",       "",                             F::bad_credential    },
      {"AKIDEXAMPLE/",       "/",                            F::bad_credential    },
      {"AKIDEXAMPLE/",       "ANOTHER/",                     F::mismatch          },
      {"AKIDEXAMPLE/",       "AKIDEXAMPLE//",                F::bad_credential    },
      {"/20260102/",         "/2026010/",                    F::bad_credential    },
      {"/20260102/",         "/20260103/",                   F::bad_date          },
      {"us-east-1",          "us-east-2",                    F::mismatch          },
      {"us-east-1",          "us east 1",                    F::bad_credential    },
      {"/sqs/",              "/sns/",                        F::mismatch          },
      {"/sqs/",              "/SQS/",                        F::bad_credential    },
      {"aws4_request",       "aws4_reques",                  F::bad_credential    },
      {"aws4_request",       "aws4_request/x",               F::bad_credential    },
      {"content-type;host;", "host;content-type;",           F::bad_signed_headers},
      {"content-type;",      "content-type;content-type;",   F::bad_signed_headers},
      {"content-type;",      ";content-type;",               F::bad_signed_headers},
      {"content-type;",      "Content-Type;",                F::bad_signed_headers},
      {"content-type;",      "content-length;content-type;", F::mismatch          },
      {"content-type;",      "content-type;extra;",          F::bad_signed_headers},
      {"content-type;",      "",                             F::mismatch          },
      {"x-amz-target,",      "x-amz-target;,",               F::bad_signed_headers},
      {";x-amz-target,",     ",",                            F::unsigned_header   },
      {";x-amz-date;",       ";",                            F::unsigned_header   },
      {"host;",              "",                             F::unsigned_header   },
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(fmt::format("{} -> {}", c.part, c.with));
    SignedRequest request = Signer().sign(json_call());
    std::string& value = *request.header("authorization");
    const std::size_t at = value.find(c.part);
    ASSERT_NE(at, std::string::npos);
    value.replace(at, c.part.size(), c.with);
    EXPECT_EQ(verify(request), c.want);
  }
}

TEST_F(SigV4, RefusesSignaturesInOtherWritings) {
  for (const bool presigned : {false, true}) {
    SignedRequest request = presigned ? presigned_call() : Signer().sign(json_call());
    std::string& text = presigned ? request.query : *request.header("authorization");
    const std::string right = text;
    const std::size_t at = text.find("Signature=") + 10;
    for (std::size_t i = at; i < text.size(); ++i) {
      text[i] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[i])));
    }
    EXPECT_EQ(verify(request), F::bad_form) << "capitals";
    text = right.substr(0, right.size() - 1);
    EXPECT_EQ(verify(request), F::bad_form) << "a digit short";
    text = right + "0";
    EXPECT_EQ(verify(request), F::bad_form) << "a digit more";
    text = right;
    text.back() = text.back() == '0' ? '1' : '0';
    EXPECT_EQ(verify(request), F::mismatch) << "another digit";
  }
}

TEST_F(SigV4, RefusesAPresignedQueryThatIsNotTheOneSigned) {
  struct Case {
    std::string_view part, with;
    F want;
  };
  constexpr Case cases[] = {
      {"",                         "",                            F::none              },
      {"hello%20world",            "hello+world",                 F::none              }, // same
      {"hello%20world",            "%68ello%20world",             F::none              },
      {"%2Fus-east-1",             "%2fus-east-1",                F::none              },
      {"hello%20world",            "hello%20World",               F::mismatch          },
      {"SendMessage",              "PurgeQueue",                  F::mismatch          },
      {"Action=",                  "More=1&Action=",              F::mismatch          },
      {"Action=",                  "Action=ListQueues&Action=",   F::bad_query         },
      {"Action=",                  "%41ction=ListQueues&Action=", F::bad_query         },
      {"Action=",                  "Action=%",                    F::bad_query         },
      {"X-Amz-Algorithm=",         "x-amz-algorithm=",            F::bad_form          },
      {"AWS4-HMAC-SHA256",         "AWS4-HMAC-SHA512",            F::bad_form          },
      {"X-Amz-Date=20260102",      "X-Amz-Date=20260103",         F::bad_date          },
      {"X-Amz-Date=",              "Date=",                       F::bad_date          },
      {"X-Amz-Expires=300",        "X-Amz-Expires=301",           F::mismatch          },
      {"X-Amz-Expires=300",        "X-Amz-Expires=",              F::bad_expires       },
      {"X-Amz-Expires=300",        "X-Amz-Expires=3e2",           F::bad_expires       },
      {"X-Amz-Expires=300",        "X-Amz-Expires=%2B300",        F::bad_expires       },
      {"X-Amz-Expires=300",        "X-Amz-Expires=0000300",       F::bad_expires       },
      {"X-Amz-Expires=300",        "Y=300",                       F::bad_expires       },
      {"X-Amz-SignedHeaders=host", "X-Amz-SignedHeaders=",        F::bad_form          },
      {"X-Amz-SignedHeaders=host", "X-Amz-SignedHeaders=a",       F::bad_signed_headers},
      {"X-Amz-Credential=AKID",    "X-Amz-Credential=BKID",       F::mismatch          },
      {"X-Amz-Credential=",        "Credential=",                 F::bad_form          },
      {"X-Amz-Signature=",         "Signature=",                  F::bad_form          },
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(fmt::format("{} -> {}", c.part, c.with));
    SignedRequest request = presigned_call();
    request.query.replace(request.query.find(c.part), c.part.size(), c.with);
    EXPECT_EQ(verify(request), c.want);
  }
}

TEST_F(SigV4, AnUnsignedHeaderCountsInPresignedQueriesToo) {
  SignedRequest request = presigned_call();
  request.headers.emplace_back("X-Amz-Target", "AmazonSQS.PurgeQueue");
  EXPECT_EQ(verify(request), F::unsigned_header);
  request.headers.back().first = "Content-Type";
  EXPECT_EQ(verify(request), F::none);
}

TEST_F(SigV4, ABodyBehindAPresignedGetIsSignedAsNone) {
  SignedRequest request = presigned_call();
  request.body = "Action=PurgeQueue";
  EXPECT_EQ(verify(request), F::mismatch);
}

TEST_F(SigV4, NeedsExactlyOneSignature) {
  EXPECT_EQ(verify(json_call()), F::missing);
  SignedRequest both = Signer().sign(json_call());
  both.query = presigned_call().query;
  EXPECT_EQ(verify(both), F::two_signatures);
  both.query = "X-Amz-Signature=";
  EXPECT_EQ(verify(both), F::two_signatures);
  SignedRequest twice = Signer().sign(json_call());
  twice.headers.push_back(twice.headers.back());
  EXPECT_EQ(verify(twice), F::two_signatures);
  SignedRequest old;
  old.query = "AWSAccessKeyId=AKIDEXAMPLE&SignatureVersion=2&Signature=abc";
  EXPECT_EQ(verify(old), F::missing);
}

TEST_F(SigV4, TheHashOfTheBodyIfGivenMustBeRight) {
  SignedRequest request = json_call();
  request.headers.emplace_back("x-amz-content-sha256",
                               "8ca3fb4ea7ec76a5d6ba6fb9b62b2cbd3a5bb5d6cb5b3a3ecc4a5e2e0d5d8a55");
  EXPECT_EQ(verify(Signer().sign(request)), F::body_differs);
  *request.header("x-amz-content-sha256") = "UNSIGNED-PAYLOAD";
  EXPECT_EQ(verify(Signer().sign(request)), F::body_differs);
  std::string right;
  append_hex(right, sha256(request.body));
  *request.header("x-amz-content-sha256") = right;
  EXPECT_EQ(verify(Signer().sign(request)), F::none);
}

TEST_F(SigV4, ASessionTokenIsSignedAndNotLookedAt) {
  SignedRequest request = json_call();
  request.headers.emplace_back("x-amz-security-token", "any+token==");
  request = Signer().sign(request);
  EXPECT_EQ(verify(request), F::none);
  *request.header("x-amz-security-token") = "other";
  EXPECT_EQ(verify(request), F::mismatch);
}

TEST_F(SigV4, BlanksInsideAValueAreOne) {
  SignedRequest request = json_call();
  request.headers.emplace_back("x-amz-meta", "a b c");
  request = Signer().sign(request);
  *request.header("x-amz-meta") = "a  b \t c";
  EXPECT_EQ(verify(request), F::none);
  *request.header("x-amz-meta") = "a b  c d";
  EXPECT_EQ(verify(request), F::mismatch);
}

// The path as sent and as it is signed, as botocore does it.
TEST_F(SigV4, SignsThePathWithoutItsDetours) {
  struct Case {
    const char *sent, *canonical;
  };
  constexpr Case cases[] = {
      {"/",                 "/"                                        },
      {"//",                "/"                                        },
      {"/a/q",              "/a/q"                                     },
      {"//a//q",            "/a/q"                                     },
      {"/a/q/",             "/a/q/"                                    },
      {"/./a/../b/q",       "/b/q"                                     },
      {"/../../a",          "/a"                                       },
      {"/a/..",             "/"                                        },
      {"/a/../",            "/"                                        },
      {"/a/.",              "/a"                                       },
      {"/a%20b/q",          "/a%2520b/q"                               },
      {"/a%2fb/q",          "/a%252fb/q"                               },
      {"/~a-b_c.d/q",       "/~a-b_c.d/q"                              },
      {"/a:b@c!$'()*+,;=q", "/a%3Ab%40c%21%24%27%28%29%2A%2B%2C%3B%3Dq"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.sent);
    SignedRequest request = json_call();
    request.path = c.canonical;
    request = Signer().sign(request);
    request.path = c.sent;
    EXPECT_EQ(verify(request), F::none);
  }
}

// The query as sent and as signed: sorted by escaped key, escaped only where it must be.
TEST_F(SigV4, SignsTheQueryInItsCanonicalForm) {
  struct Case {
    const char *sent, *canonical;
  };
  constexpr Case cases[] = {
      {"b=2&a=1",              "a=1&b=2"              },
      {"a",                    "a="                   },
      {"a=1&&b=2&",            "a=1&b=2"              },
      {"a==b=",                "a=%3Db%3D"            },
      {"a=%7e%41+%20",         "a=~A%20%20"           },
      {"k~=1&k%C3%A9=2&k/=3",  "k%2F=3&k%C3%A9=2&k~=1"},
      {"a=%c3%a9%00",          "a=%C3%A9%00"          },
      {"ab=1&a-=2&a=3&a%2C=4", "a=3&a%2C=4&a-=2&ab=1" },
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.sent);
    SignedRequest request = json_call();
    request.query = c.canonical;
    request = Signer().sign(request);
    request.query = c.sent;
    EXPECT_EQ(verify(request), F::none);
  }
}

TEST_F(SigV4, AnUnknownKeyIsTheSameFaultAsAWrongSecret) {
  Signer wrong, unknown;
  wrong.secret += "x";
  unknown.id = "AKIDUNKNOWN";
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(verify(wrong.sign(json_call())), F::mismatch);
    EXPECT_EQ(verify(unknown.sign(json_call())), F::mismatch);
    EXPECT_EQ(verify(Signer().sign(json_call())), F::none);
  }
}

// The secret that the ring uses for unknown keys must accept no signature.
TEST_F(SigV4, NobodysKeyIsNobodys) {
  const Keyring::Found nobody = keys.find("AKIDUNKNOWN");
  ASSERT_FALSE(nobody.known);
  Signer signer;
  signer.secret = nobody.entry->key.secret;
  for (const std::string& id : {nobody.entry->key.id, std::string("AKIDUNKNOWN")}) {
    signer.id = id;
    EXPECT_EQ(verify(signer.sign(json_call())), F::mismatch) << id;
  }
}

TEST_F(SigV4, AKeyThatChangedIsNotRememberedAsItWas) {
  const SignedRequest request = Signer().sign(json_call());
  ASSERT_EQ(verify(request), F::none);
  Keyring other;
  ASSERT_EQ(other.add({"AKIDEXAMPLE", "another-secret", std::string(account)}), KeyFault::none);
  HttpParser parser;
  const HttpRequest* parsed = test::parse(parser, request.text());
  ASSERT_NE(parsed, nullptr);
  EXPECT_EQ(verifier.verify(*parsed, other, signed_at, who), F::mismatch);
  EXPECT_EQ(verifier.verify(*parsed, keys, signed_at, who), F::none);
}

TEST_F(SigV4, ManyKeysAndRegionsShareTheTableOfDerivedKeys) {
  constexpr int many = 3 * static_cast<int>(SignatureVerifier::cached_max);
  Signer signer;
  for (int i = 0; i < many; ++i) {
    signer.id = fmt::format("AKID{}", i);
    signer.secret = fmt::format("secret{}", i);
    add(signer);
  }
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < many; ++i) {
      signer.id = fmt::format("AKID{}", i);
      signer.secret = fmt::format("secret{}", i);
      signer.region = fmt::format("r{}", i % 5);
      ASSERT_EQ(verify(signer.sign(json_call())), F::none);
      ASSERT_EQ(who.key_id, signer.id);
    }
  }
}

TEST_F(SigV4, SecretsOfEveryLengthWork) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{40}, std::size_t{59}, std::size_t{60},
                                 std::size_t{61}, Keyring::secret_max}) {
    Signer signer;
    signer.id = fmt::format("K{}", size);
    signer.secret = std::string(size, 's');
    add(signer);
    EXPECT_EQ(verify(signer.sign(json_call())), F::none) << size;
  }
}

TEST_F(SigV4, ALargeBodyIsHashedWhole) {
  SignedRequest request = json_call();
  request.body = std::string(1 << 20, 'x');
  request = Signer().sign(request);
  EXPECT_EQ(verify(request), F::none);
  request.body.back() = 'y';
  EXPECT_EQ(verify(request), F::mismatch);
}

TEST(NamedKeyId, IsThatOfTheHeaderOrOfThePresignedQuery) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"/",                                                     "",                                                         ""            },
      {"/",
       "AWS4-HMAC-SHA256 Credential=123456789012/20260101/us-east-1/sqs/aws4_request, Signature=0",                         "123456789012"},
      {"/",                                                     "AWS4-HMAC-SHA256 SignedHeaders=host,Credential=test/2026", "test"        },
      {"/",                                                     "AWS4-HMAC-SHA256 Credential=",                             ""            },
      {"/",                                                     "Basic dXNlcg==",                                           ""            },
      {"/?Action=ListQueues&X-Amz-Credential=111111111111%2F2", "",                                                         "111111111111"},
      {"/?X-Amz-Credential=222222222222/2&a=b",                 "",                                                         "222222222222"},
      {"/?X-Amz-Credential=end",                                "",                                                         "end"         },
  };
  for (const auto& [target, header, id] : cases) {
    HttpParser parser;
    std::size_t consumed = 0;
    std::string bytes = fmt::format("GET {} HTTP/1.1\r\nHost: h\r\n", target);
    if (*header != 0) bytes += fmt::format("Authorization: {}\r\n", header);
    bytes += "\r\n";
    ASSERT_EQ(parser.feed(bytes, consumed), HttpParser::State::complete) << target;
    EXPECT_EQ(named_key_id(parser.request()), id) << target << header;
  }
}

}  // namespace
}  // namespace pawl

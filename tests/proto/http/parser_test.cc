// SPDX-License-Identifier: Apache-2.0
#include "proto/http/parser.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tests/proto/http/parser_harness.h"

namespace pawl {
namespace {

using State = HttpParser::State;

const std::string valid_samples[] = {
    "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
    "GET /000000000000/q?Action=ReceiveMessage&x=%20 HTTP/1.1\r\nHost: [::1]:9324\r\n\r\n",
    "HEAD / HTTP/1.0\r\n\r\n",
    "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n",
    "POST http://h:1/a?b HTTP/1.1\r\nHost: H:1\r\nContent-Length: 0\r\n\r\n",
    post("Content-Length: 5\r\nX-Amz-Target:AmazonSQS.SendMessage  \r\nEmpty:\r\n", "hello"),
    post("content-length: 2\r\nConnection: close\r\n", "{}"),
    post("Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n0000A\r\n, world.\r\n\r\n0\r\n\r\n"),
    post("Transfer-Encoding: Chunked\r\n", "0\r\n\r\n"),
    post("Transfer-Encoding: chunked\r\n",
         "5;a=b;c\r\nhello\r\n0003 ; d = \"\\\"\"\r\nabc\r\n000;e\r\nX: y\r\nEmpty:\r\n\r\n"),
    post("Content-Encoding: identity\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n"),
    post("Value: tab\there and \xc3\xa9\r\n"),
    post("Content-Length: 3\r\n", "abc") + post("Content-Length: 3\r\n", "def") +
        "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
};

TEST(HttpParser, ReadsTheSameByteByByteAsInOnePiece) {
  for (const std::string& sample : valid_samples) {
    SCOPED_TRACE(sample);
    const std::vector<std::string> whole = outcome(sample);
    EXPECT_GE(whole.size(), 2u);
    EXPECT_TRUE(whole.back() == "idle" || whole.back() == "done") << whole.back();
    for (const std::size_t piece : {1, 2, 3, 7, 20}) EXPECT_EQ(whole, outcome(sample, piece));
  }
}

TEST(HttpParser, GivesWhatWasSent) {
  HttpParser parser;
  std::size_t consumed = 0;
  const std::string bytes =
      "POST /1/q?a=%20b&c HTTP/1.1\r\nHost: q.example:80\r\nX-Amz-Target:  AmazonSQS.Send \r\n"
      "Content-Length: 4\r\n\r\nbodyPOST";
  ASSERT_EQ(parser.feed(bytes, consumed), State::complete);
  EXPECT_EQ(consumed, bytes.size() - 4);
  const HttpRequest& request = parser.request();
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/1/q?a=%20b&c");
  EXPECT_EQ(request.path, "/1/q");
  EXPECT_EQ(request.query, "a=%20b&c");
  EXPECT_EQ(request.body, "body");
  EXPECT_EQ(request.headers.size(), 3u);
  ASSERT_NE(request.header(HeaderName::x_amz_target), nullptr);
  EXPECT_EQ(*request.header(HeaderName::x_amz_target), "AmazonSQS.Send");
  EXPECT_EQ(request.header(HeaderName::x_amz_date), nullptr);
  EXPECT_TRUE(request.keep_alive);
}

TEST(HttpParser, SplitsTargetsInEveryForm) {
  struct Case {
    const char *line, *path, *query;
  };
  constexpr Case cases[] = {
      {"GET / HTTP/1.1",               "/",        ""     },
      {"GET /a/b? HTTP/1.1",           "/a/b",     ""     },
      {"GET /?x=1?y HTTP/1.1",         "/",        "x=1?y"},
      {"GET /a://h/b HTTP/1.1",        "/a://h/b", ""     },
      {"OPTIONS * HTTP/1.1",           "*",        ""     },
      {"GET http://h HTTP/1.1",        "/",        ""     },
      {"GET http://h?q HTTP/1.1",      "/",        "q"    },
      {"GET https://H/a/b?q HTTP/1.1", "/a/b",     "q"    },
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.line);
    HttpParser parser;
    std::size_t consumed = 0;
    ASSERT_EQ(parser.feed(std::string(c.line) + "\r\nHost: h\r\n\r\n", consumed), State::complete)
        << parser.error_text();
    EXPECT_EQ(parser.request().path, c.path);
    EXPECT_EQ(parser.request().query, c.query);
  }
}

TEST(HttpParser, IgnoresChunkExtensionsAndTrailerFields) {
  const std::string bytes = post("Transfer-Encoding: chunked\r\n",
                                 "1;a=b;c\r\nx\r\n0\r\nContent-Length: 5\r\nHost: other\r\n\r\n") +
                            "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
  const std::vector<std::string> seen = outcome(bytes);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_TRUE(seen[0].ends_with(" body=x keep")) << seen[0];
  EXPECT_FALSE(seen[0].contains("other")) << "a trailer field is no header";
  EXPECT_TRUE(seen[1].starts_with("GET / ")) << seen[1];
}

TEST(HttpParser, RefusesWhatTwoServersCouldReadDifferently) {
  struct Case {
    const char* name;
    std::string bytes;
    int status;
  };
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  const Case cases[] = {
      {"space before the colon", post("X : y\r\n"), 400},
      {"bare LF after the request line", "GET / HTTP/1.1\nHost: h\r\n\r\n", 400},
      {"bare LF after a header", "GET / HTTP/1.1\r\nHost: h\nX: y\r\n\r\n", 400},
      {"bare LF at the end of the head", "GET / HTTP/1.1\r\nHost: h\r\n\n", 400},
      {"bare CR in a value", post("X: a\rb\r\n"), 400},
      {"bare CR before a header", post("\rX: a\r\n"), 400},
      {"folded line, space", post("X: a\r\n b\r\n"), 400},
      {"folded line, tab", post("X: a\r\n\tb\r\n"), 400},
      {"folded line, only blanks", post("X: a\r\n \r\n"), 400},
      {"folded first header", "GET / HTTP/1.1\r\n Host: h\r\n\r\n", 400},
      {"NUL in a value", post(std::string("X: a\0b\r\n", 8)), 400},
      {"DEL in a value", post("X: a\x7f\r\n"), 400},
      {"control character in a value", post("X: a\x01\r\n"), 400},
      {"NUL in a name", post(std::string("X\0: a\r\n", 7)), 400},
      {"8-bit name", post("X\xe9: a\r\n"), 400},
      {"no name", post(": a\r\n"), 400},
      {"no colon", post("Xa\r\n"), 400},

      {"length, then chunked", post("Content-Length: 5\r\n" + chunked, "0\r\n\r\n"), 400},
      {"chunked, then length", post(chunked + "Content-Length: 5\r\n", "0\r\n\r\n"), 400},
      {"two equal lengths", post("Content-Length: 1\r\nContent-Length: 1\r\n", "a"), 400},
      {"two lengths", post("Content-Length: 1\r\nContent-Length: 2\r\n", "ab"), 400},
      {"length +2", post("Content-Length: +2\r\n", "ab"), 400},
      {"length -1", post("Content-Length: -1\r\n", "ab"), 400},
      {"length 2, 2", post("Content-Length: 2, 2\r\n", "ab"), 400},
      {"length 2 2", post("Content-Length: 2 2\r\n", "ab"), 400},
      {"length 0x2", post("Content-Length: 0x2\r\n", "ab"), 400},
      {"length without digits", post("Content-Length:\r\n"), 400},
      {"length of blanks", post("Content-Length:  \r\n"), 400},
      {"length 2^64 + 3", post("Content-Length: 18446744073709551619\r\n", "abc"), 400},

      {"two codings", post(chunked + chunked, "0\r\n\r\n"), 400},
      {"coding xchunked", post("Transfer-Encoding: xchunked\r\n"), 400},
      {"coding chunkedx", post("Transfer-Encoding: chunkedx\r\n"), 400},
      {"coding chunked, identity", post("Transfer-Encoding: chunked, identity\r\n"), 400},
      {"coding gzip, chunked", post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), 400},
      {"coding identity", post("Transfer-Encoding: identity\r\n"), 400},
      {"coding empty", post("Transfer-Encoding:\r\n"), 400},
      {"coding in quotes", post("Transfer-Encoding: \"chunked\"\r\n"), 400},
      {"coding behind a vertical tab", post("Transfer-Encoding: \vchunked\r\n"), 400},
      {"coding in HTTP/1.0", "POST / HTTP/1.0\r\n" + chunked + "\r\n0\r\n\r\n", 400},

      {"chunk size 0x3", post(chunked, "0x3\r\nabc\r\n0\r\n\r\n"), 400},
      {"chunk size 3_", post(chunked, "3_\r\nabc\r\n0\r\n\r\n"), 400},
      {"chunk size -1", post(chunked, "-1\r\n"), 400},
      {"chunk size, space", post(chunked, "3 \r\nabc\r\n0\r\n\r\n"), 400},
      {"space, chunk size", post(chunked, " 3\r\nabc\r\n0\r\n\r\n"), 400},
      {"no chunk size", post(chunked, "\r\nabc\r\n0\r\n\r\n"), 400},
      {"chunk size ends in LF", post(chunked, "3\nabc\r\n0\r\n\r\n"), 400},
      {"chunk size of 17 digits", post(chunked, "00000000000000003\r\nabc\r\n0\r\n\r\n"), 400},
      {"chunk size beyond 2^64", post(chunked, "10000000000000000\r\n"), 400},
      {"chunk ends in other bytes", post(chunked, "3\r\nabcXX0\r\n\r\n"), 400},
      {"chunk ends in LF", post(chunked, "3\r\nabc\n0\r\n\r\n"), 400},
      {"chunk longer than it said", post(chunked, "3\r\nabcd\r\n0\r\n\r\n"), 400},
      {"chunk extension with LF", post(chunked, "3;a\nb\r\nabc\r\n0\r\n\r\n"), 400},
      {"chunk extension without name", post(chunked, "3;\r\nabc\r\n0\r\n\r\n"), 400},
      {"body ends in LF", post(chunked, "0\r\n\n"), 400},
      {"trailer field that ends in LF", post(chunked, "0\r\nX: y\n\r\n"), 400},
      {"trailer field without a name", post(chunked, "0\r\n: y\r\n\r\n"), 400},

      {"HTTP/9.9", "GET / HTTP/9.9\r\nHost: h\r\n\r\n", 505},
      {"HTTP/2.0", "GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505},
      {"HTTP/1.2", "GET / HTTP/1.2\r\nHost: h\r\n\r\n", 505},
      {"HTTP/0.9", "GET / HTTP/0.9\r\nHost: h\r\n\r\n", 505},
      {"HTTP/0.9 without version", "GET /\r\n\r\n", 505},
      {"HTTP/1.10", "GET / HTTP/1.10\r\nHost: h\r\n\r\n", 505},
      {"http/1.1", "GET / http/1.1\r\nHost: h\r\n\r\n", 400},
      {"RTSP/1.0", "GET / RTSP/1.0\r\nHost: h\r\n\r\n", 400},
      {"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"two spaces before the target", "GET  / HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"two spaces before the version", "GET /  HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"space behind the version", "GET / HTTP/1.1 \r\nHost: h\r\n\r\n", 505},
      {"tab for space", "GET\t/ HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"empty line first", "\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"LF first", "\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", 400},

      {"no Host", "GET / HTTP/1.1\r\n\r\n", 400},
      {"two Hosts", "GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n", 400},
      {"two Hosts in HTTP/1.0", "GET / HTTP/1.0\r\nHost: h\r\nhost: i\r\n\r\n", 400},
      {"empty Host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", 400},
      {"target for another host", "GET http://i/ HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"target for another port", "GET http://h:1/ HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"target with a user", "GET http://u@h/ HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"target with a host, HTTP/1.0", "GET http://h/ HTTP/1.0\r\n\r\n", 400},
      {"target without slash", "GET a HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"GET *", "GET * HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"fragment", "GET /a#b HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"8-bit target", "GET /\xc3\xa9 HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"control character in the target", "GET /\x01 HTTP/1.1\r\nHost: h\r\n\r\n", 400},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(refusal(c.bytes), c.status);
    // The second request of a connection is checked as strictly as the first.
    const std::vector<std::string> pipelined = outcome(post("A: b\r\n") + c.bytes);
    EXPECT_EQ(pipelined.size(), 2u);
    EXPECT_EQ(pipelined.back(), std::to_string(c.status));
  }
}

TEST(HttpParser, ChecksTheSyntaxOfHost) {
  struct Case {
    const char* host;
    bool valid;
  };
  constexpr Case cases[] = {
      {"localhost",          true },
      {"127.0.0.1:9324",     true },
      {"my_host-1.example.", true },
      {"[::1]",              true },
      {"[fe80::1.2.3.4]:80", true },
      {"h:",                 true },
      {"h:65535",            true },
      {"h:123456",           false},
      {"h:80a",              false},
      {"h:80:80",            false},
      {"h/x",                false},
      {"a b",                false},
      {"u@h",                false},
      {"h,i",                false},
      {":80",                false},
      {"[]",                 false},
      {"[::1",               false},
      {"[::1]x",             false},
      {"[g::]",              false},
      {"h?x",                false},
      {"h\"",                false},
      {"\xc3\xa9",           false},
      {"h%41",               false},
      {"<script>",           false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.host);
    EXPECT_EQ(refusal("GET / HTTP/1.1\r\nHost: " + std::string(c.host) + "\r\n\r\n"),
              c.valid ? 0 : 400);
  }
}

TEST(HttpParser, NamesTheRightStatus) {
  struct Case {
    const char* name;
    std::string bytes;
    int status;
  };
  const Case cases[] = {
      {"PATCH", "PATCH / HTTP/1.1\r\nHost: h\r\n\r\n", 405},
      {"CONNECT", "CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\n\r\n", 405},
      {"TRACE", "TRACE / HTTP/1.1\r\nHost: h\r\n\r\n", 405},
      {"unknown method", "BREW / HTTP/1.1\r\nHost: h\r\n\r\n", 501},
      {"longer than GET", "GETX / HTTP/1.1\r\nHost: h\r\n\r\n", 501},
      {"lower-case method", "post / HTTP/1.1\r\nHost: h\r\n\r\n", 501},
      {"TLS hello", std::string("\x16\x03\x01\x00\xa5", 5), 400},
      {"gzip", post("Content-Encoding: gzip\r\n"), 415},
      {"identity, gzip", post("Content-Encoding: identity, gzip\r\n"), 415},
      {"aws-chunked", post("Content-Encoding: aws-chunked\r\n"), 415},
      {"expectation", post("Expect: tea\r\n"), 417},
      {"two expectations", post("Expect: tea\r\nExpect: 100-continue\r\n"), 417},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(refusal(c.bytes), c.status);
  }
}

TEST(HttpParser, KeepsAliveAsTheVersionSays) {
  struct Case {
    const char *version, *connection;
    bool keep_alive;
  };
  constexpr Case cases[] = {
      {"1.1", "",                           true },
      {"1.1", "Connection: close\r\n",      false},
      {"1.1", "Connection: Close\r\n",      false},
      {"1.1", "Connection: keep-alive\r\n", true },
      {"1.1", "Connection: x, close\r\n",   false},
      {"1.0", "",                           false},
      {"1.0", "Connection: Keep-Alive\r\n", true },
      {"1.0", "Connection: close\r\n",      false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.version) + " " + c.connection);
    HttpParser parser;
    std::size_t consumed = 0;
    const std::string bytes =
        std::string("GET / HTTP/") + c.version + "\r\nHost: h\r\n" + c.connection + "\r\n";
    ASSERT_EQ(parser.feed(bytes, consumed), State::complete);
    EXPECT_EQ(parser.request().keep_alive, c.keep_alive);
  }
}

TEST(HttpParser, DiscardsWhatFollowsTheLastRequest) {
  const std::string bytes = post("Connection: close\r\n") + post("");
  const std::vector<std::string> seen = outcome(bytes);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[1], "done");
}

TEST(HttpParser, StaysInErrorForGood) {
  HttpParser parser;
  std::size_t consumed = 0;
  ASSERT_EQ(parser.feed("PATCH ", consumed), State::error);
  EXPECT_EQ(parser.error_status(), 405);
  EXPECT_FALSE(parser.error_text().empty());
  EXPECT_EQ(parser.feed(post(""), consumed), State::error);
  EXPECT_EQ(consumed, 0u);
  EXPECT_EQ(parser.error_status(), 405);
}

TEST(HttpParser, TakesNothingMoreUntilTheRequestIsAnswered) {
  HttpParser parser;
  std::size_t consumed = 0;
  ASSERT_EQ(parser.feed(post("Accept: 1\r\n"), consumed), State::complete);
  ASSERT_EQ(parser.feed(post("Accept: 2\r\n"), consumed), State::complete);
  EXPECT_EQ(consumed, 0u);
  EXPECT_EQ(*parser.request().header(HeaderName::accept), "1");
}

TEST(HttpParser, ReportsItsPhase) {
  HttpParser parser;
  std::size_t consumed = 0;
  EXPECT_EQ(parser.phase(), HttpParser::Phase::idle);
  parser.feed("P", consumed);
  EXPECT_EQ(parser.phase(), HttpParser::Phase::head);
  parser.feed("OST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\na", consumed);
  EXPECT_EQ(parser.phase(), HttpParser::Phase::body);
  EXPECT_EQ(parser.feed("b", consumed), State::complete);
  EXPECT_EQ(parser.phase(), HttpParser::Phase::done);
  parser.next();
  EXPECT_EQ(parser.phase(), HttpParser::Phase::idle);
}

}  // namespace
}  // namespace pawl

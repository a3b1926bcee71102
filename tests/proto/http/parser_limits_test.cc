// SPDX-License-Identifier: Apache-2.0
// Limits and buffers of the parser, and its pauses at the head of a request.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/proto/http/parser_harness.h"

namespace pawl {
namespace {

using State = HttpParser::State;

// Limits: the last size that passes and the first that does not.

TEST(HttpParser, BoundsTheHead) {
  const std::string fixed = post("X: \r\n");
  const auto head_of = [&](std::size_t size) {
    return post("X: " + std::string(size - fixed.size(), 'x') + "\r\n");
  };
  EXPECT_EQ(head_of(HttpParser::head_bytes_max).size(), HttpParser::head_bytes_max);
  EXPECT_EQ(refusal(head_of(HttpParser::head_bytes_max)), 0);
  EXPECT_EQ(refusal(head_of(HttpParser::head_bytes_max + 1)), 431);
  EXPECT_EQ(refusal(post("X:" + std::string(HttpParser::head_bytes_max, ' '))), 431);
}

TEST(HttpParser, BoundsTheNumberOfHeaders) {
  const auto with_headers = [](std::size_t count) {
    std::string headers;
    for (std::size_t i = 1; i < count; ++i) headers += "X: y\r\n";  // Host is one
    return post(headers);
  };
  EXPECT_EQ(refusal(with_headers(HttpParser::headers_max)), 0);
  EXPECT_EQ(refusal(with_headers(HttpParser::headers_max + 1)), 431);
}

TEST(HttpParser, BoundsTheTarget) {
  const auto with_target = [](std::size_t size) {
    return "GET /" + std::string(size - 1, 'a') + " HTTP/1.1\r\nHost: h\r\n\r\n";
  };
  EXPECT_EQ(refusal(with_target(HttpParser::target_bytes_max)), 0);
  EXPECT_EQ(refusal(with_target(HttpParser::target_bytes_max + 1)), 414);
  EXPECT_EQ(refusal(with_target(2 * HttpParser::head_bytes_max)), 414);
}

TEST(HttpParser, RefusesALongBodyByItsLengthAlone) {
  const auto with_length = [](std::size_t length) {
    return post("Content-Length: " + std::to_string(length) + "\r\n");
  };
  EXPECT_EQ(outcome(with_length(HttpParser::body_bytes_max)).back(), "body");
  EXPECT_EQ(outcome(with_length(HttpParser::body_bytes_max + 1)).back(), "413");
  EXPECT_EQ(outcome(with_length(SIZE_MAX)).back(), "413");
}

TEST(HttpParser, BoundsABodyInChunks) {
  const std::string chunk = "100000\r\n" + std::string(1 << 20, 'a') + "\r\n";
  std::string full = post("Transfer-Encoding: chunked\r\n");
  for (std::size_t sum = 0; sum < HttpParser::body_bytes_max; sum += 1 << 20) full += chunk;
  EXPECT_EQ(outcome(full + "0\r\n\r\n").back(), "idle");
  EXPECT_EQ(outcome(full + "1\r\n").back(), "413");
  EXPECT_EQ(outcome(post("Transfer-Encoding: chunked\r\n", "FFFFFFFFFFFFFFFF\r\n")).back(), "413");
}

TEST(HttpParser, GivesBackTheBufferOfALargeBody) {
  HttpParser parser;
  std::size_t consumed = 0;
  const std::string body(1 << 20, 'a');
  const std::string bytes = post("Content-Length: " + std::to_string(body.size()) + "\r\n", body);
  ASSERT_EQ(parser.feed(bytes, consumed), State::complete);
  EXPECT_EQ(parser.request().body, body);
  EXPECT_EQ(*parser.request().header(HeaderName::host), "h");  // the buffer has moved since
  EXPECT_EQ(parser.request().target, "/");
  EXPECT_GE(parser.memory(), body.size());
  parser.next();
  EXPECT_LT(parser.memory(), HttpParser::buffer_keep_bytes);
}

TEST(HttpParser, HasReadableSlackBehindEveryBody) {
  for (const std::size_t size : {0, 1, 1950, 2048, 70'000, 131'072}) {
    SCOPED_TRACE(size);
    const std::string body(size, 'a');
    for (const std::string& bytes :
         {post("Content-Length: " + std::to_string(size) + "\r\n", body),
          post("Transfer-Encoding: chunked\r\n",
               size == 0 ? "0\r\n\r\n" : fmt::format("{:x}\r\n{}\r\n0\r\n\r\n", size, body))}) {
      HttpParser parser;
      std::size_t consumed = 0;
      ASSERT_EQ(parser.feed(bytes, consumed), State::complete);
      const char* const begin = parser.request().target.data();
      const char* const end = parser.request().body.data() + size + HttpParser::body_slack;
      EXPECT_GE(parser.memory(), static_cast<std::size_t>(end - begin));
      EXPECT_EQ(std::string(begin, end).size(), static_cast<std::size_t>(end - begin));  // for ASan
    }
  }
}

TEST(HttpParser, BelievesAContentLengthOnlyAsBytesArrive) {
  HttpParser parser;
  std::size_t consumed = 0;
  const std::string length = std::to_string(HttpParser::body_bytes_max);
  parser.feed(post("Content-Length: " + length + "\r\n"), consumed);
  EXPECT_LT(parser.memory(), 2 * HttpParser::buffer_keep_bytes);
}

TEST(HttpParser, KeepsItsBufferFromRequestToRequest) {
  HttpParser parser;
  std::size_t consumed = 0;
  const std::string bytes = post("Content-Length: 1000\r\n", std::string(1000, 'a'));
  ASSERT_EQ(parser.feed(bytes, consumed), State::complete);
  const char* const first = parser.request().target.data();
  const std::size_t memory = parser.memory();
  parser.next();
  ASSERT_EQ(parser.feed(bytes, consumed), State::complete);
  EXPECT_EQ(parser.request().target.data(), first);
  EXPECT_EQ(parser.memory(), memory);
}

// Expect: 100-continue

TEST(HttpParser, AsksForContinueOnceAndOnlyWhenTheBodyIsNotThere) {
  const std::string head = post("Expect: 100-Continue\r\nContent-Length: 2\r\n");
  HttpParser parser;
  std::size_t consumed = 0;
  EXPECT_EQ(parser.feed(head, consumed), State::need_continue);
  EXPECT_EQ(consumed, head.size());
  EXPECT_EQ(parser.feed("", consumed), State::need_more);
  EXPECT_EQ(parser.feed("a", consumed), State::need_more);
  EXPECT_EQ(parser.feed("b", consumed), State::complete);
  EXPECT_TRUE(parser.request().expect_continue);
  EXPECT_EQ(parser.request().body, "ab");
  parser.next();
  EXPECT_EQ(parser.feed(head + "a", consumed), State::need_more);
  EXPECT_EQ(parser.feed("b", consumed), State::complete);
  parser.next();
  EXPECT_EQ(parser.feed(post("Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n"), consumed),
            State::need_continue);
}

TEST(HttpParser, DoesNotAskForContinueWithoutABodyOrInHttp10) {
  HttpParser parser;
  std::size_t consumed = 0;
  EXPECT_EQ(parser.feed(post("Expect: 100-continue\r\n"), consumed), State::complete);
  parser.next();
  EXPECT_EQ(
      parser.feed("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n", consumed),
      State::need_more);
}

// The stop at the head

TEST(HttpParser, StopsAtTheHeadOnceWhenABodyIsToCome) {
  const std::string head = post("Accept: b\r\nExpect: 100-continue\r\nContent-Length: 4\r\n");
  for (std::size_t cut = 1; cut <= head.size(); ++cut) {
    HttpParser parser;
    parser.stop_at_head();
    std::size_t consumed = 0;
    HttpParser::State state = parser.feed(std::string_view(head).substr(0, cut), consumed);
    if (cut < head.size()) {
      ASSERT_EQ(state, State::need_more) << cut;
      state = parser.feed(head.substr(cut) + "body", consumed);
    }
    ASSERT_EQ(state, State::head) << cut;
    EXPECT_EQ(consumed, cut < head.size() ? head.size() - cut : cut) << "nothing of the body";
    EXPECT_EQ(parser.body_length(), 4u);
    ASSERT_NE(parser.request().header(HeaderName::accept), nullptr);
    EXPECT_EQ(*parser.request().header(HeaderName::accept), "b");
    EXPECT_EQ(parser.feed("", consumed), State::need_continue);
    EXPECT_EQ(parser.feed("body", consumed), State::complete);
    EXPECT_EQ(parser.request().body, "body");
    parser.next();
    EXPECT_EQ(parser.feed(post(""), consumed), State::complete) << "no body, no stop";
  }
}

TEST(HttpParser, RefusesChunksBeyondTheLimitOfThatRequest) {
  const std::string head = post("Transfer-Encoding: chunked\r\n");
  HttpParser parser;
  parser.stop_at_head();
  std::size_t consumed = 0;
  ASSERT_EQ(parser.feed(head, consumed), State::head);
  EXPECT_EQ(parser.body_length(), std::nullopt);
  parser.limit_body(8);
  ASSERT_EQ(parser.feed("8\r\n12345678\r\n0\r\n\r\n", consumed), State::complete);
  parser.next();
  ASSERT_EQ(parser.feed(head, consumed), State::head);
  parser.limit_body(8);
  EXPECT_EQ(parser.feed("8\r\n12345678\r\n1\r\n", consumed), State::error);
  EXPECT_EQ(parser.error_status(), 413);
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/sqs_client/http_response.h"

#include <gtest/gtest.h>

namespace pawl::sqs_client {
namespace {

using State = HttpResponse::State;

std::string with(const std::string& headers, const std::string& body = {}) {
  return "HTTP/1.1 200 OK\r\n" + headers + "\r\n" + body;
}

TEST(HttpResponse, EndsWhereItsLengthSays) {
  struct Case {
    const char* name;
    std::string text;
    int status;
    const char* body;
    bool keep_alive;
  };
  const Case cases[] = {
      {"with a length", with("Content-Length: 2\r\n", "{}"), 200, "{}", true},
      {"in small letters", with("content-length:2\r\n", "{}"), 200, "{}", true},
      {"a length twice", with("Content-Length: 2\r\nContent-Length: 2\r\n", "{}"), 200, "{}", true},
      {"an empty body", with("Content-Length: 0\r\n"), 200, "", true},
      {"of HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", 200, "{}", false},
      {"without a reason", "HTTP/1.1 400\r\nContent-Length: 0\r\n\r\n", 400, "", true},
      {"that closes", with("Connection: Close\r\nContent-Length: 0\r\n"), 200, "", false},
      {"of no content", "HTTP/1.1 204 No Content\r\n\r\n", 204, "", true},
      {"after another",
       "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n"
       "Content-Length: 2\r\n\r\n{}", 200, "{}", true},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    for (std::size_t cut = 0; cut < c.text.size(); ++cut)
      ASSERT_EQ(read_response(std::string_view(c.text).substr(0, cut)).state, State::incomplete)
          << cut;
    const std::string followed = c.text + "HTTP/1.1 500 the next one";
    const HttpResponse response = read_response(followed);
    ASSERT_EQ(response.state, State::complete);
    EXPECT_EQ(response.status, c.status);
    EXPECT_EQ(response.body, c.body);
    EXPECT_EQ(response.keep_alive, c.keep_alive);
    EXPECT_EQ(response.bytes, c.text.size());
    EXPECT_TRUE(response.has_length);
    EXPECT_FALSE(response.chunked);
  }
}

TEST(HttpResponse, HasTheOutcomesOfCancels) {
  const std::string text = with("X-Pawl-Cancel: cancelled,gone\r\nContent-Length: 0\r\n");
  EXPECT_EQ(read_response(text).cancelled, "cancelled,gone");
  EXPECT_EQ(read_response(with("Content-Length: 0\r\n")).cancelled, "");
}

TEST(HttpResponse, HasTheCodeOfAnErrorWithoutNamespaceAndUrl) {
  for (const char* code : {"ConflictException", "aws.scheduler#ConflictException",
                           "ConflictException:http://internal.amazon.com/coral/"}) {
    const std::string text =
        with("X-Amzn-ErrorType: " + std::string(code) + "\r\nContent-Length: 0\r\n");
    EXPECT_EQ(read_response(text).error_code, "ConflictException") << code;
  }
  EXPECT_EQ(read_response(with("Content-Length: 0\r\n")).error_code, "");
}

TEST(HttpResponse, WithoutALengthHasNoKnownBody) {
  const std::string text = with("Server: x\r\n", "{}");
  const HttpResponse response = read_response(text);
  ASSERT_EQ(response.state, State::complete);
  EXPECT_FALSE(response.has_length);
  EXPECT_FALSE(response.keep_alive);
  EXPECT_EQ(response.body, "");
}

TEST(HttpResponse, JoinsChunks) {
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  const std::pair<std::string, const char*> cases[] = {
      {with(chunked,                                              "0\r\n\r\n"),                                         ""          },
      {with(chunked,                                              "2\r\n{}\r\n0\r\n\r\n"),                              "{}"        },
      {with(chunked,                                              "1\r\n{\r\n1;name=value\r\n}\r\n0\r\n\r\n"),          "{}"        },
      {with(chunked,                                              "A \r\n0123456789\r\n0\r\n\r\n"),                     "0123456789"},
      {with(chunked,                                              "2\r\n\r\n\r\n000\r\nTrailer: x\r\nMore: y\r\n\r\n"), "\r\n"      },
      {with("Content-Length: 5\r\ntransfer-encoding:CHUNKED\r\n", "1\r\nx\r\n0\r\n\r\n"),                               "x"         },
  };
  for (const auto& [text, body] : cases) {
    SCOPED_TRACE(text);
    for (std::size_t cut = 0; cut < text.size(); ++cut)
      ASSERT_EQ(read_response(std::string_view(text).substr(0, cut)).state, State::incomplete)
          << cut;
    const std::string followed = text + "more";
    const HttpResponse response = read_response(followed);
    ASSERT_EQ(response.state, State::complete);
    ASSERT_TRUE(response.chunked);
    EXPECT_EQ(join_chunks(response.body), body);
    EXPECT_EQ(response.bytes, text.size());
    EXPECT_TRUE(response.keep_alive);
  }
}

TEST(HttpResponse, IsBrokenWhereItsEndIsUnknown) {
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  const std::pair<const char*, std::string> cases[] = {
      {"another protocol", "SSH-2.0-x"},
      {"binary", std::string("\0\0\0\x08", 4)},
      {"another version", "HTTP/2 200 OK\r\n\r\n"},
      {"no status", "HTTP/1.1 OK\r\n\r\n"},
      {"a long status", "HTTP/1.1 2000\r\n\r\n"},
      {"a small status", "HTTP/1.1 099 x\r\n\r\n"},
      {"a negative length", with("Content-Length: -1\r\n")},
      {"a length with a sign", with("Content-Length: +1\r\n")},
      {"no length", with("Content-Length:\r\n")},
      {"a list of lengths", with("Content-Length: 2, 2\r\n")},
      {"two lengths", with("Content-Length: 2\r\nContent-Length: 3\r\n")},
      {"a length too long", with("Content-Length: 99999999999999999999\r\n")},
      {"compressed", with("Transfer-Encoding: gzip, chunked\r\n")},
      {"a chunk without size", with(chunked, "\r\n")},
      {"a chunk of no number", with(chunked, "x\r\n")},
      {"a chunk of -1", with(chunked, "-1\r\n")},
      {"an enormous chunk", with(chunked, "ffffffffffffffff\r\n")},
      {"a chunk longer than it says", with(chunked, "1\r\nxyz")},
      {"an endless chunk line", with(chunked, "1;" + std::string(chunk_line_bytes_max, 'x'))},
      {"an endless head", with("X: " + std::string(head_bytes_max, 'x'))},
      {"endless trailers", with(chunked, "0\r\nX: " + std::string(head_bytes_max, 'x'))},
  };
  for (const auto& [name, text] : cases) {
    SCOPED_TRACE(name);
    EXPECT_EQ(read_response(text).state, State::broken);
    EXPECT_EQ(read_response(text + "\r\n\r\n").state, State::broken) << "and it stays so";
  }
  std::string interim;
  while (interim.size() <= head_bytes_max) interim += "HTTP/1.1 100 Continue\r\n\r\n";
  EXPECT_EQ(read_response(interim).state, State::broken) << "endless interim responses";
}

}  // namespace
}  // namespace pawl::sqs_client

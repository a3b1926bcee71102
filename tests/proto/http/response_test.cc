// SPDX-License-Identifier: Apache-2.0
// append_response() of proto/http/parser.h.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "proto/http/parser.h"

namespace pawl {
namespace {

std::string response(int status, std::string_view body, bool keep_alive, bool head_only,
                     int version_minor = 1, std::vector<HttpHeader> extra = {}) {
  std::string out = "before|";
  append_response(out, status, body.empty() ? "" : "text/xml", "id-1", extra, body, keep_alive,
                  head_only, "Thu, 01 Jan 1970 00:00:00 GMT", version_minor);
  return out;
}

TEST(HttpResponse, IsWrittenBehindWhatIsThere) {
  EXPECT_EQ(response(200, "<a/>", true, false),
            "before|HTTP/1.1 200 OK\r\nx-amzn-RequestId: id-1\r\nContent-Type: text/xml\r\n"
            "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Length: 4\r\n\r\n<a/>");
}

TEST(HttpResponse, SaysWhatBecomesOfTheConnection) {
  EXPECT_NE(response(400, "x", false, false).find("Connection: close\r\n"), std::string::npos);
  EXPECT_NE(response(200, "x", true, false, 0).find("Connection: keep-alive\r\n"),
            std::string::npos);
  EXPECT_EQ(response(200, "x", true, false).find("Connection"), std::string::npos);
}

TEST(HttpResponse, ToHeadHasTheLengthButNotTheBody) {
  const std::string out = response(200, "abc", true, true);
  EXPECT_NE(out.find("Content-Length: 3\r\n"), std::string::npos);
  EXPECT_TRUE(out.ends_with("\r\n\r\n"));
}

TEST(HttpResponse, WithoutABodyHasNoTypeAndALengthOnlyWhereOneIsAllowed) {
  const std::string empty = response(200, "", true, false);
  EXPECT_EQ(empty.find("Content-Type"), std::string::npos);
  EXPECT_NE(empty.find("Content-Length: 0\r\n"), std::string::npos);
  EXPECT_EQ(response(204, "", true, false).find("Content-Length"), std::string::npos);
}

TEST(HttpResponse, ListsTheMethodsWithA405) {
  EXPECT_NE(response(405, "", false, false).find("Allow: POST, GET, HEAD, OPTIONS\r\n"),
            std::string::npos);
}

TEST(HttpResponse, HasTheMethodsOfItsCallerWithA405) {
  const std::string out = response(405, "", false, false, 1,
                                   {
                                       {"Allow", "GET"}
  });
  EXPECT_NE(out.find("\r\nAllow: GET\r\n"), std::string::npos) << out;
  EXPECT_EQ(out.find("OPTIONS"), std::string::npos) << out;
}

TEST(HttpStream, IsSentInChunks) {
  std::string out;
  append_stream_head(out, 200, "text/plain", {}, true, "Thu", 1);
  append_chunk(out, std::string(26, 'x'));
  append_chunk(out, "y");
  out += last_chunk;
  EXPECT_EQ(out,
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nDate: Thu\r\n"
            "Transfer-Encoding: chunked\r\n\r\n1a\r\n" +
                std::string(26, 'x') + "\r\n1\r\ny\r\n0\r\n\r\n");
}

TEST(HttpStream, HasTheHeadersOfTheCaller) {
  std::string out;
  const HttpHeader header{.name = "Content-Encoding", .value = "gz\r\nip"};
  append_stream_head(out, 200, "a/b", std::span(&header, 1), true, {}, 1);
  EXPECT_EQ(out,
            "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Encoding: gz  ip\r\n"
            "Transfer-Encoding: chunked\r\n\r\n");
}

TEST(HttpStream, OfAnOldClientEndsWithTheConnection) {
  std::string out;
  append_stream_head(out, 200, "text/plain", {}, false, {}, 0);
  EXPECT_EQ(out, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n");
}

TEST(HttpResponse, LetsNoValueAddALine) {
  const std::string out = response(200, "", true, false, 1,
                                   {
                                       {"X",   "a\r\nSet-Cookie: b"},
                                       {"Y\n", "\x7f"              }
  });
  EXPECT_NE(out.find("X: a  Set-Cookie: b\r\nY :  \r\n"), std::string::npos) << out;
}

TEST(HttpResponse, NamesEveryStatusTheParserGives) {
  for (const int status : {400, 405, 413, 414, 415, 417, 431, 501, 505}) {
    EXPECT_NE(status_text(status), "Unknown") << status;
  }
  EXPECT_EQ(status_text(299), "Unknown");
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// The scans of raw bytes alone. tests/proto/http/parser_test.cc has whole requests.
#include "proto/http/strictness.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pawl {
namespace {

// The status of a head that arrives in pieces of `piece` bytes; 0: not refused.
int head_status(std::string_view bytes, std::size_t piece) {
  HttpStrict strict;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    if (const HttpRefusal refusal = strict.scan_head(bytes.substr(at, piece)))
      return refusal.status;
  }
  return 0;
}

struct Case {
  std::string bytes;
  int status;
};

void expect_in_every_piece(int (*status_of)(std::string_view, std::size_t),
                           const std::vector<Case>& cases) {
  for (const Case& c : cases)
    for (std::size_t piece = 1; piece <= c.bytes.size(); ++piece)
      EXPECT_EQ(status_of(c.bytes, piece), c.status) << c.bytes << " by " << piece;
}

TEST(HttpStrict, AcceptsOneFormOfRequestLine) {
  expect_in_every_piece(head_status, {
                                         {"GET / HTTP/1.1\r\n",     0  },
                                         {"POST /q?a HTTP/1.0\r\n", 0  },
                                         {"GET / HTTP/1.1\n",       400},
                                         {"GET  / HTTP/1.1\r\n",    400},
                                         {"GET /  HTTP/1.1\r\n",    400},
                                         {"GET / HTTP/1.1 \r\n",    505},
                                         {"GET / HTTP/1.2\r\n",     505},
                                         {"GET / HTTP/1.11\r\n",    505},
                                         {"GET / HTTP/2.0\r\n",     505},
                                         {"GET / http/1.1\r\n",     400},
                                         {"GET / RTSP/1.0\r\n",     400},
                                         {"GET /\r\n",              505},
                                         {"\r\n",                   400},
  });
}

TEST(HttpStrict, KnowsWhereTheRequestLineEnds) {
  HttpStrict strict;
  EXPECT_FALSE(strict.scan_head("GET / HTTP/1.1\r"));
  EXPECT_TRUE(strict.in_request_line());
  EXPECT_FALSE(strict.scan_head("\nHost: h\r\n"));
  EXPECT_FALSE(strict.in_request_line());
}

TEST(HttpStrict, AcceptsHeaderLinesThatEndInCrLfAndHaveAName) {
  const std::string line = "GET / HTTP/1.1\r\n";
  expect_in_every_piece(head_status, {
                                         {line + "A: b\r\nC:d\r\n\r\n", 0  },
                                         {line + "A: b c\r\n\r\n",      0  },
                                         {line + " A: b\r\n\r\n",       400},
                                         {line + "A: b\r\n c\r\n\r\n",  400},
                                         {line + "A: b\r\n\tc\r\n\r\n", 400},
                                         {line + ": b\r\n\r\n",         400},
                                         {line + "A: b\n\r\n",          400},
                                         {line + "A: b\r\n\n",          400},
  });
}

TEST(ValidHost, IsANameOrAnAddressWithAnOptionalPort) {
  for (const char* host : {"localhost", "a_b-1.example.", "127.0.0.1:9324", "h:", "h:65535",
                           "[::1]", "[fe80::1.2.3.4]:80"})
    EXPECT_TRUE(valid_host(host)) << host;
  for (const char* host : {"", ":80", "h:123456", "h:8a", "h:80:80", "h/x", "a b", "u@h", "[]",
                           "[::1", "[::1]x", "[g::]", "h%41", "\xc3\xa9"})
    EXPECT_FALSE(valid_host(host)) << host;
}

// RFC 9110, section 5.6.2.
TEST(TokenCharacter, IsALetterADigitOrOneOfFifteenOthers) {
  int count = 0;
  for (int c = 0; c < 256; ++c) count += is_token_character(static_cast<char>(c)) ? 1 : 0;
  EXPECT_EQ(count, 26 + 26 + 10 + 15);
  for (const char c : std::string_view("azAZ09!#$%&'*+-.^_`|~")) EXPECT_TRUE(is_token_character(c));
  for (const char c : std::string_view("\"(),/:;<=>?@[\\]{} \t\x7f"))
    EXPECT_FALSE(is_token_character(c));
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Bodies in chunks alone. tests/proto/http/parser_test.cc has whole requests.
#include "proto/http/chunked_body.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {
namespace {

using Event = ChunkedBody::Event;

// The body; "?" behind what is not ended, "!" and the rest that was not read behind a refusal.
std::string read_all(std::string_view bytes, std::size_t piece) {
  ChunkedBody chunks;
  std::string body;
  for (std::size_t at = 0; at < bytes.size();) {
    const ChunkedBody::Piece read = chunks.read(bytes.substr(at, piece));
    at += read.used;
    body += read.data;
    if (read.event == Event::refused) {
      EXPECT_EQ(read.refusal.status, 400);
      return body + "!";
    }
    if (read.event == Event::end) return body + std::string(bytes.substr(at));
  }
  return body + "?";
}

void expect_body(const std::string& bytes, const std::string& body) {
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece)
    EXPECT_EQ(read_all(bytes, piece), body) << bytes << " by " << piece;
}

TEST(ChunkedBody, IsTheDataOfItsChunks) {
  expect_body("0\r\n\r\n", "");
  expect_body("3\r\nabc\r\n0aF\r\n" + std::string(0xaf, 'd') + "\r\n000\r\n\r\n",
              "abc" + std::string(0xaf, 'd'));
  expect_body("1\r\n\n\r\n0\r\n\r\nnext", "\nnext");
  expect_body("3\r\nab", "ab?");
}

TEST(ChunkedBody, TellsTheSizeOfAChunkBeforeItsData) {
  ChunkedBody chunks;
  const ChunkedBody::Piece piece = chunks.read("FFFFFFFFFFFFFFFF;a=b\r\nabc");
  EXPECT_EQ(piece.event, Event::chunk);
  EXPECT_EQ(piece.size, UINT64_MAX);
  EXPECT_EQ(piece.used, 22u);
}

TEST(ChunkedBody, IgnoresExtensions) {
  for (const std::string_view extension : {";a", " \t;a", ";a=b", ";a=b;c", "; a ; b",
                                           ";\ta = b ;c", ";a=\"b c;\r\n\"", ";a=\"\\\"\""}) {
    const bool in_line = !extension.contains('\n');
    expect_body("1" + std::string(extension) + "\r\nx\r\n0" + std::string(extension) + "\r\n\r\n",
                in_line ? "x" : "!");
  }
  for (const std::string_view bad : {";", ";;", ";=b", ";a=", ";a=b c", ";a\x01", ";a=\x7f"})
    expect_body("1" + std::string(bad) + "\r\nx\r\n0\r\n\r\n", "!");
}

TEST(ChunkedBody, IgnoresTrailerFields) {
  expect_body("0\r\nX: y\r\nEmpty:\r\n\r\nnext", "next");
  for (const std::string_view bad : {": y\r\n\r\n", "X y\r\n\r\n", " X: y\r\n\r\n", "X: y\n\r\n",
                                     "X: \x01\r\n\r\n", "X: y\rZ\r\n\r\n", "\n", "\r\r\n"})
    expect_body("0\r\n" + std::string(bad), "!");
}

TEST(ChunkedBody, HasSizesOfHexDigits) {
  for (const std::string_view bad :
       {"\r\n", "x\r\n", "1 \r\n", "-1\r\n", "0x1\r\n", "1\n", "1\rx", "00000000000000001\r\n"})
    expect_body(std::string(bad), "!");
  for (const std::string_view bad : {"1\r\nxy", "1\r\nx\n", "1\r\nx\rx"})
    expect_body(std::string(bad), "x!");
}

TEST(ChunkedBody, BoundsWhatItIgnores) {
  const auto extended = [](std::size_t bytes) {
    return "0;" + std::string(bytes - 1, 'a') + "\r\n\r\n";
  };
  expect_body(extended(ChunkedBody::line_bytes_max), "");
  EXPECT_EQ(read_all(extended(ChunkedBody::line_bytes_max + 1), 100), "!");
  const auto with_trailer = [](std::size_t bytes) {
    return "0\r\nX:" + std::string(bytes - 6, ' ') + "\r\n\r\n";
  };
  EXPECT_EQ(read_all(with_trailer(ChunkedBody::trailer_bytes_max), 100), "");
  EXPECT_EQ(read_all(with_trailer(ChunkedBody::trailer_bytes_max + 1), 100), "!");
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/http/refusals.h"

#include <gtest/gtest.h>

#include <string>

namespace pawl {
namespace {

TEST(Refusals, ATextNamesTheValueAndTheLimit) {
  EXPECT_TRUE(long_target_text(8192).contains(" 8192 bytes"));
  const std::string head = long_head_text(16384, 64);
  EXPECT_TRUE(head.contains(" 16384 bytes")) << head;
  EXPECT_TRUE(head.contains(" 64 headers")) << head;
  const std::string body = long_body_text(300, 200);
  EXPECT_TRUE(body.contains(" 300 bytes")) << body;
  EXPECT_TRUE(body.contains(" 200 bytes")) << body;
  const std::string chunk = long_chunk_text(7, 195, 200);
  EXPECT_TRUE(chunk.contains(" 7 bytes after 195 bytes")) << chunk;
  EXPECT_TRUE(chunk.contains(" 200 bytes")) << chunk;
}

TEST(Refusals, AHeaderValueIsCutTo40Bytes) {
  const std::string text = content_encoding_text(std::string(40, 'x') + "y");
  EXPECT_TRUE(text.contains(std::string(40, 'x'))) << text;
  EXPECT_FALSE(text.contains("xy")) << text;
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/text/json_bulk.h"

#include <gtest/gtest.h>

#include <string>

namespace pawl {
namespace {

std::string repeated(std::string_view text, std::size_t bytes) {
  std::string out;
  while (out.size() < bytes) out += text;
  return out;
}

std::string with_body(const std::string& body) { return R"({"MessageBody":")" + body + R"("})"; }

TEST(JsonBulk, LongTextsFitHoweverTheyAreEscaped) {
  EXPECT_EQ(look_at_bulk(with_body(repeated("a,[{1", 1 << 20))), JsonBulk::fits);
  EXPECT_EQ(look_at_bulk(with_body(repeated(R"(\",)", 1 << 20))), JsonBulk::fits);
  EXPECT_EQ(look_at_bulk(with_body(repeated(R"(\\)", 2 << 20))), JsonBulk::fits);
  EXPECT_EQ(look_at_bulk(with_body(repeated(R"(\u0022)", 6 << 20))), JsonBulk::fits);
}

TEST(JsonBulk, AMillionValuesDoNotFit) {
  using enum JsonBulk;
  EXPECT_EQ(look_at_bulk("[" + repeated("1,", 8 << 20) + "1]"), too_much_structure);
  EXPECT_EQ(look_at_bulk("[" + repeated(R"("",)", 1 << 20) + "1]"), too_much_structure);
  EXPECT_EQ(look_at_bulk("{" + repeated(" ", 1 << 20) + "}"), too_much_structure);
}

// The escapes are at every place in a block, and across two blocks.
TEST(JsonBulk, FollowsEscapesFromBlockToBlock) {
  const std::string values = repeated("1,", json_structure_bytes_max + 256);
  for (std::size_t before = 0; before < 130; ++before) {
    for (std::size_t slashes = 0; slashes < 4; ++slashes) {
      const std::string text = "\"" + std::string(before, 'a') + std::string(slashes, '\\') + "\"";
      EXPECT_EQ(look_at_bulk(text + values),
                slashes % 2 == 0 ? JsonBulk::too_much_structure : JsonBulk::fits)
          << before << " " << slashes;
    }
  }
}

TEST(JsonBulk, TwoMiBOfTextAreTheMost) {
  EXPECT_EQ(look_at_bulk(with_body(std::string(json_content_bytes_max - 64, 'a'))), JsonBulk::fits);
  EXPECT_EQ(look_at_bulk(with_body(std::string(json_content_bytes_max + 64, 'a'))),
            JsonBulk::too_much_content);
}

}  // namespace
}  // namespace pawl

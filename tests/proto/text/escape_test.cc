// SPDX-License-Identifier: Apache-2.0
#include "proto/text/escape.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace pawl {
namespace {

constexpr EscapeTable two_specials = [] {
  EscapeTable made;
  made.replace('&', "&amp;");
  made.replace('"', "&quot;");
  made.replace_control('\n', "\\n");
  return made;
}();

constexpr EscapeTable five_specials = [] {
  EscapeTable made;
  made.replace('&', "&amp;");
  made.replace('"', "&quot;");
  made.replace('<', "&lt;");
  made.replace('>', "&gt;");
  made.replace('\n', "\\n");
  return made;
}();

std::string one_by_one(std::string_view text, bool angles) {
  std::string out;
  for (const char c : text) {
    out += c == '&'             ? "&amp;"
           : c == '"'           ? "&quot;"
           : c == '\n'          ? "\\n"
           : angles && c == '<' ? "&lt;"
           : angles && c == '>' ? "&gt;"
                                : std::string(1, c);
  }
  return out;
}

// Texts are dense or sparse, shorter than a block or longer than a chunk, and appended to others.
TEST(EscapeTable, ReplacesTheSameBytesAtEveryPlace) {
  std::mt19937 random(1);
  for (const std::size_t every : {1u, 2u, 40u, 5000u}) {
    for (const std::size_t size :
         {0u, 1u, 15u, 16u, 17u, 63u, 64u, 65u, 127u, 128u, 4095u, 4096u, 4097u, 20'000u}) {
      std::string text;
      for (std::size_t i = 0; i < size; ++i)
        text += random() % every == 0 ? "&\"\n<>"[random() % 5] : static_cast<char>(random() % 256);
      std::string two = "before", five = two;
      two_specials.append(two, text);
      five_specials.append(five, text);
      ASSERT_EQ(two, "before" + one_by_one(text, false)) << every << " " << size;
      ASSERT_EQ(five, "before" + one_by_one(text, true)) << every << " " << size;
    }
  }
}

// One special at each place of texts around the length of the blocks that are examined together.
TEST(EscapeTable, FindsOneSpecialAnywhere) {
  for (const std::size_t size : {16u, 64u, 80u, 150u}) {
    for (std::size_t at = 0; at < size; ++at) {
      for (const char special : {'&', '"', '\n', '<', '>'}) {
        std::string text(size, 'x');
        text[at] = special;
        std::string two, five;
        two_specials.append(two, text);
        five_specials.append(five, text);
        ASSERT_EQ(two, one_by_one(text, false)) << size << " " << at;
        ASSERT_EQ(five, one_by_one(text, true)) << size << " " << at;
      }
    }
  }
}

TEST(EscapeTable, GrowsItsStringByDoublingAtLeast) {
  std::string out;
  std::size_t grown = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    const std::size_t before = out.capacity();
    two_specials.append(out, std::string(4096, '"'));
    grown += out.capacity() != before ? 1 : 0;
  }
  EXPECT_LT(grown, 15u);
}

}  // namespace
}  // namespace pawl

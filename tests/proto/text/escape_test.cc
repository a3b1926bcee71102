// SPDX-License-Identifier: Apache-2.0
#include "proto/text/escape.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace pawl {
namespace {

constexpr EscapeTable table = [] {
  EscapeTable made;
  made.replace('&', "&amp;");
  made.replace('"', "&quot;");
  made.replace_control('\n', "\\n");
  return made;
}();

std::string one_by_one(std::string_view text) {
  std::string out;
  for (const char c : text)
    out += c == '&' ? "&amp;" : c == '"' ? "&quot;" : c == '\n' ? "\\n" : std::string(1, c);
  return out;
}

// Texts are dense or sparse, shorter than a block or longer than a chunk, and appended to others.
TEST(EscapeTable, ReplacesTheSameBytesAtEveryPlace) {
  std::mt19937 random(1);
  for (const std::size_t every : {1u, 2u, 40u, 5000u}) {
    for (const std::size_t size : {0u, 1u, 15u, 16u, 17u, 100u, 4095u, 4096u, 4097u, 20'000u}) {
      std::string text;
      for (std::size_t i = 0; i < size; ++i)
        text += random() % every == 0 ? "&\"\n"[random() % 3] : static_cast<char>(random() % 256);
      std::string out = "before";
      table.append(out, text);
      ASSERT_EQ(out, "before" + one_by_one(text)) << every << " " << size;
    }
  }
}

TEST(EscapeTable, GrowsItsStringByDoublingAtLeast) {
  std::string out;
  std::size_t grown = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    const std::size_t before = out.capacity();
    table.append(out, std::string(4096, '"'));
    grown += out.capacity() != before ? 1 : 0;
  }
  EXPECT_LT(grown, 15u);
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/text/text.h"

#include <gtest/gtest.h>

#include <string>

#include "proto/text/json_dom.h"

namespace pawl {
namespace {

std::string utf8(char32_t c) {
  const auto byte = [](char32_t bits) { return static_cast<char>(bits); };
  if (c < 0x80) return {byte(c)};
  if (c < 0x800) return {byte(0xc0 | c >> 6), byte(0x80 | (c & 63))};
  if (c < 0x10000) return {byte(0xe0 | c >> 12), byte(0x80 | (c >> 6 & 63)), byte(0x80 | (c & 63))};
  return {byte(0xf0 | c >> 18), byte(0x80 | (c >> 12 & 63)), byte(0x80 | (c >> 6 & 63)),
          byte(0x80 | (c & 63))};
}

bool allowed(char32_t c) {
  return c == 0x9 || c == 0xa || c == 0xd || (c >= 0x20 && c <= 0xd7ff) ||
         (c >= 0xe000 && c <= 0xfffd) || (c >= 0x10000 && c <= 0x10ffff);
}

TEST(Text, EveryCharacterIsJudgedAsSqsSays) {
  for (char32_t c = 0; c <= 0x10ffff; ++c) {
    const bool surrogate = c >= 0xd800 && c <= 0xdfff;
    const TextFault want = surrogate    ? TextFault::bad_utf8
                           : allowed(c) ? TextFault::none
                                        : TextFault::bad_character;
    ASSERT_EQ(check_text(utf8(c)), want) << static_cast<std::uint32_t>(c);
    ASSERT_EQ(valid_utf8(utf8(c)), !surrogate) << static_cast<std::uint32_t>(c);
  }
}

// The scan skips 64 plain bytes at a time. A bad character is found at each place, between any
// neighbours.
TEST(Text, ABadCharacterIsFoundAtEveryPlace) {
  const auto repeated = [](std::string_view text, std::size_t times) {
    std::string all;
    for (std::size_t i = 0; i < times; ++i) all += text;
    return all;
  };
  for (const char* around : {"a", "\n", "\xc3\xa9", "\xef\xbc\x8c", "\xf0\x9f\x90\xbe"}) {
    for (std::size_t before = 0; before < 140; ++before) {
      for (const std::size_t after : {0, 1, 9, 63, 64, 70}) {
        const std::string begin = repeated(around, before), end = repeated(around, after);
        ASSERT_EQ(check_text(begin + end), TextFault::none);
        for (const std::string& bad :
             {std::string("\0", 1), utf8(0x1f), utf8(0xfffe), utf8(0xffff)})
          ASSERT_EQ(check_text(begin + bad + end), TextFault::bad_character)
              << before << " " << after;
        ASSERT_EQ(check_text(begin + "\xe2\x82" + end), TextFault::bad_utf8)
            << before << " " << after;
      }
    }
  }
}

// Allowed control characters before it, so that the whole text is examined.
TEST(Text, EveryControlCharacterIsFoundAmongAllowedOnes) {
  for (char c = 0; c < 0x20; ++c) {
    const bool allowed = c == '\t' || c == '\n' || c == '\r';
    for (std::size_t at = 0; at < 150; ++at) {
      std::string text(150, '\n');
      text[at] = c;
      EXPECT_EQ(check_text(text), allowed ? TextFault::none : TextFault::bad_character)
          << static_cast<int>(c) << " at " << at;
    }
  }
}

TEST(Text, BytesThatAreNotUtf8AreRefused) {
  constexpr const char* cases[] = {
      "\x80",
      "a\xbf",
      "\xc0\x80",
      "\xc1\xbf",
      "\xc3",
      "\xc3(",
      "\xe2\x82",
      "\xe0\x80\xaf",
      "\xed\xa0\x80",
      "\xf0\x9f\x90",
      "\xf0\x80\x80\xaf",
      "\xf4\x90\x80\x80",
      "\xf8\x88\x80\x80\x80",
      "\xff",
      "\x01\xff",
  };
  for (const char* text : cases) {
    EXPECT_EQ(check_text(text), TextFault::bad_utf8) << text;
    EXPECT_FALSE(valid_utf8(text)) << text;
  }
}

TEST(Text, APrefixIsFoundInAnyCaseOfAsciiLetters) {
  EXPECT_TRUE(starts_with_ignoring_case("X-Amz-Date", "x-amz-"));
  EXPECT_TRUE(starts_with_ignoring_case("aws.", "AWS."));
  EXPECT_TRUE(starts_with_ignoring_case("", ""));
  EXPECT_FALSE(starts_with_ignoring_case("aws", "aws."));
  EXPECT_FALSE(starts_with_ignoring_case("@ws.", "`ws."));
  EXPECT_FALSE(starts_with_ignoring_case("\xC4ws", "\xE4ws"));
}

TEST(Text, AnAccountIdIsTwelveDigits) {
  EXPECT_TRUE(is_account_id("000000000000"));
  EXPECT_TRUE(is_account_id("123456789012"));
  for (const char* other :
       {"", "12345678901", "1234567890123", "12345678901a", "12345678901/", " 23456789012"})
    EXPECT_FALSE(is_account_id(other)) << other;
}

TEST(Text, ADecimalNumberIsTheWholeText) {
  EXPECT_EQ(decimal_number("0"), 0);
  EXPECT_EQ(decimal_number("007"), 7);
  EXPECT_EQ(decimal_number("18446744073709551615"), UINT64_MAX);
  for (const char* other : {"", "18446744073709551616", "-1", "+1", "1 ", " 1", "1s", "0x1", "1.0"})
    EXPECT_EQ(decimal_number(other), std::nullopt) << other;
}

}  // namespace
}  // namespace pawl

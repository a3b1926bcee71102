// SPDX-License-Identifier: Apache-2.0
#include "proto/text/md5_lanes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "proto/text/md5_avx2.h"

namespace pawl {
namespace {

// Random bytes, read at any position: texts of every alignment.
const std::string& noise() {
  static const std::string bytes = [] {
    std::mt19937 random(1);
    std::string out(1 << 16, '\0');
    std::ranges::generate(out, [&] { return static_cast<char>(random()); });
    return out;
  }();
  return bytes;
}

std::string_view text_of(std::size_t at, std::size_t size) {
  return std::string_view(noise()).substr(at, size);
}

std::vector<Md5> one_by_one(const std::vector<std::string_view>& texts) {
  std::vector<Md5> out;
  for (const std::string_view text : texts) out.push_back(md5(text));
  return out;
}

std::vector<Md5> each(const std::vector<std::string_view>& texts, Md5Method method) {
  std::vector<Md5> out(texts.size());
  md5_each(texts, out, method);
  return out;
}

class Md5Lanes : public testing::TestWithParam<Md5Registers> {
 protected:
  void SetUp() override {
    if (GetParam() == Md5Registers::avx2 && !has_avx2())
      GTEST_SKIP() << "this processor has no AVX2";
  }

  static std::vector<Md5> in_lanes(const std::vector<std::string_view>& texts) {
    std::vector<Md5> out(texts.size());
    md5_in_lanes(texts, out, GetParam());
    return out;
  }
};

INSTANTIATE_TEST_SUITE_P(Registers, Md5Lanes,
                         testing::Values(Md5Registers::avx2, Md5Registers::vectors),
                         [](const auto& registers) {
                           return registers.param == Md5Registers::avx2 ? "Avx2" : "Vectors";
                         });

TEST_P(Md5Lanes, EveryLengthInEveryLane) {
  for (std::size_t count = 1; count <= md5_lanes_max; ++count) {
    for (std::size_t first = 0; first <= 300; ++first) {
      std::vector<std::string_view> texts;
      for (std::size_t i = 0; i < count; ++i)
        texts.push_back(text_of(i + first, (first + i) % 301));
      ASSERT_EQ(in_lanes(texts), one_by_one(texts)) << count << " texts from length " << first;
    }
  }
}

TEST_P(Md5Lanes, LengthsAroundTheBlocksOfLongerTexts) {
  for (std::size_t blocks = 1; blocks <= 40; ++blocks) {
    std::vector<std::string_view> texts;
    for (std::size_t size = 64 * blocks - 10; texts.size() < md5_lanes_max; ++size) {
      texts.push_back(text_of(blocks, size));
    }
    ASSERT_EQ(in_lanes(texts), one_by_one(texts)) << blocks << " blocks";
  }
}

TEST_P(Md5Lanes, RandomLengthsAlignmentsAndCounts) {
  std::mt19937 random(2);
  const auto below = [&](std::size_t n) { return random() % n; };
  for (int round = 0; round < 5000; ++round) {
    std::vector<std::string_view> texts(1 + below(md5_lanes_max));
    const std::size_t size_max = std::size_t{1} << below(14);
    for (std::string_view& text : texts) text = text_of(below(1 << 12), below(size_max + 1));
    ASSERT_EQ(in_lanes(texts), one_by_one(texts)) << "round " << round;
  }
}

// A lane that ends must not disturb its neighbours, nor the second register the first.
TEST_P(Md5Lanes, OneLongTextBesideShortOnesInEachLane) {
  for (std::size_t lane = 0; lane < md5_lanes_max; ++lane) {
    std::vector<std::string_view> texts(md5_lanes_max, text_of(lane, 20));
    texts[lane] = text_of(3, 5000);
    ASSERT_EQ(in_lanes(texts), one_by_one(texts)) << "lane " << lane;
  }
}

TEST(Md5Each, GivesTheSameByEitherMethodInTheOrderOfTheTexts) {
  std::mt19937 random(3);
  const auto below = [&](std::size_t n) { return random() % n; };
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::string_view> texts(below(md5_lanes_max + 1));
    for (std::string_view& text : texts) {
      text = text_of(below(64), below((std::size_t{1} << below(15)) + 1));
    }
    const std::vector<Md5> wanted = one_by_one(texts);
    ASSERT_EQ(each(texts, Md5Method::fastest), wanted) << "round " << round;
    ASSERT_EQ(each(texts, Md5Method::one_by_one), wanted) << "round " << round;
  }
}

TEST(Md5Each, TakesEmptyTextsAndNone) {
  EXPECT_TRUE(each({}, Md5Method::fastest).empty());
  const std::vector<std::string_view> texts(3);
  EXPECT_EQ(each(texts, Md5Method::fastest), one_by_one(texts));
}

}  // namespace
}  // namespace pawl

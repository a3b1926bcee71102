// SPDX-License-Identifier: Apache-2.0
#include "proto/sns/filter_tree.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace pawl {
namespace {

constexpr FilterLimits limits{.keys_max = 5, .combinations_max = 150, .nested = true};

FilterMatcher exact(std::string text) {
  return {.kind = FilterMatcher::Kind::text, .text = std::move(text)};
}
FilterValue text(std::string_view value) {
  return {.kind = FilterValue::Kind::text, .text = value};
}

FilterChoices choices_of(auto... matchers) {
  std::vector<FilterMatcher> list;
  (list.push_back(std::move(matchers)), ...);
  return FilterChoices(std::move(list));
}

TEST(FilterTree, AValueIsAScalarOfJson) {
  JsonDom dom;
  EXPECT_EQ(FilterValue::of(*dom.parse("2"))->number, 2.0);
  EXPECT_EQ(FilterValue::of(*dom.parse("1.5"))->number, 1.5);
  EXPECT_EQ(FilterValue::of(*dom.parse("true"))->kind, FilterValue::Kind::truth);
  EXPECT_EQ(FilterValue::of(*dom.parse("null"))->kind, FilterValue::Kind::null);
  EXPECT_FALSE(FilterValue::of(*dom.parse("[]")));
  EXPECT_FALSE(FilterValue::of(*dom.parse("{}")));
}

TEST(FilterTree, OneOfTheChoicesMustMatch) {
  const FilterChoices choices = choices_of(
      exact("a"), exact("b"), FilterMatcher{.kind = FilterMatcher::Kind::prefix, .text = "x-"});
  EXPECT_EQ(choices.size(), 3u);
  for (const std::string_view wanted : {"a", "b", "x-1"}) EXPECT_TRUE(choices.any(text(wanted)));
  for (const std::string_view other : {"", "c", "ab", "1x-"})
    EXPECT_FALSE(choices.any(text(other)));
  EXPECT_FALSE(choices.any_of_absence());
  EXPECT_TRUE(choices_of(FilterMatcher{.kind = FilterMatcher::Kind::exists, .truth = false})
                  .any_of_absence());
}

TEST(FilterTree, AllExactTextsTogetherCostOneLookUp) {
  const std::size_t one = choices_of(exact("a")).cost();
  EXPECT_EQ(choices_of(exact("a"), exact("b"), exact("c")).cost(), one);
  EXPECT_GT(choices_of(exact("a"), FilterMatcher{.kind = FilterMatcher::Kind::suffix, .text = "b"})
                .cost(),
            one);
}

TEST(FilterTree, ReadingMakesANodeOfFieldsAndAlternatives) {
  JsonDom dom;
  FilterNode node;
  std::string why;
  const auto policy =
      dom.parse(R"({"a":["x",{"prefix":"y"}],"$or":[{"b":[1]},{"c":[2]}],"d":{"e":[null]}})");
  ASSERT_TRUE(read_filter_tree(*policy, limits, node, why)) << why;
  ASSERT_EQ(node.fields.size(), 2u);
  EXPECT_EQ(node.fields[0].key, "a");
  EXPECT_EQ(node.fields[0].choices.size(), 2u);
  ASSERT_NE(node.fields[1].nested, nullptr);
  EXPECT_EQ(node.fields[1].nested->fields[0].key, "e");
  ASSERT_EQ(node.ors.size(), 1u);
  EXPECT_EQ(node.ors[0].size(), 2u);
  EXPECT_GT(node.memory(), 2 * sizeof(FilterNode));
}

TEST(FilterTree, ReadingStopsAtTheFirstError) {
  JsonDom dom;
  FilterNode node;
  std::string why;
  const auto policy = dom.parse(R"({"a":{"b":["x"]}})");
  FilterLimits flat = limits;
  flat.nested = false;
  EXPECT_FALSE(read_filter_tree(*policy, flat, node, why));
  EXPECT_EQ(why, "Filter policy scope MessageAttributes does not support nested filter policy");
}

}  // namespace
}  // namespace pawl

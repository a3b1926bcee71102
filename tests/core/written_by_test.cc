// SPDX-License-Identifier: Apache-2.0
#include "core/base/written_by.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pawl {
namespace {

struct Shared;
struct Reader {
  template <typename Value>
  static constexpr bool may_write = requires(Value& value) { value.write(); };
};
struct Clerk {
  static void rename(Shared& shared, const std::string& name);
  template <typename Value>
  static constexpr bool may_write = requires(Value& value) { value.write(); };
};
struct Heir : Reader {
  static void add(Shared& shared, int number);
};

struct Shared {
  WrittenBy<std::string, Clerk> name{"none"};
  WrittenBy<std::vector<int>, Clerk, Heir> numbers;
  WrittenBy<int, Clerk> count{7};
};

void Clerk::rename(Shared& shared, const std::string& name) {
  shared.name.write() = name;
  shared.numbers.write().push_back(1);
}
void Heir::add(Shared& shared, int number) { shared.numbers.write().push_back(number); }

TEST(WrittenBy, IsReadLikeItsValue) {
  const Shared shared;
  EXPECT_EQ(*shared.name, "none");
  EXPECT_EQ(shared.name->size(), 4u);
  EXPECT_EQ(shared.count + 1, 8);
}

TEST(WrittenBy, IsChangedByItsWriters) {
  Shared shared;
  Clerk::rename(shared, "q");
  Heir::add(shared, 2);
  EXPECT_EQ(*shared.name, "q");
  EXPECT_EQ(*shared.numbers, (std::vector{1, 2}));
  EXPECT_EQ(shared.numbers[1], 2);
}

TEST(WrittenBy, IsNotChangedByOthers) {
  EXPECT_TRUE(Clerk::may_write<decltype(Shared::name)>);
  EXPECT_FALSE(Reader::may_write<decltype(Shared::name)>);
  EXPECT_FALSE(Reader::may_write<decltype(Shared::numbers)>);
}

TEST(WrittenBy, CostsNoMemory) { EXPECT_EQ(sizeof(WrittenBy<int, Clerk>), sizeof(int)); }

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "core/queue/effects.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "core/queue/transfer.h"
#include "tests/core/allocations.h"

namespace pawl {
namespace {

// Calls with_vector(vector, is_record) for each vector. A new member does not compile here until it
// is named.
template <typename WithVector>
void for_each_vector(Effects& effects, WithVector&& with_vector) {
  auto& [configs, heads, sends, numbers, receives, deletes, purges, tasks, forgotten_transfers,
         replays, freed, replies, transfers] = effects;
  with_vector(configs, true);
  with_vector(heads, true);
  with_vector(sends, true);
  with_vector(numbers, true);
  with_vector(receives, true);
  with_vector(deletes, true);
  with_vector(purges, true);
  with_vector(tasks, true);
  with_vector(forgotten_transfers, true);
  with_vector(replays, true);
  with_vector(freed, false);
  with_vector(replies, false);
  with_vector(transfers, false);
}

TEST(Effects, HaveRecordsIfOneOfTheirRecordVectorsIsNotEmpty) {
  EXPECT_FALSE(Effects().has_records());
  Effects effects;
  int kind = 0;
  for_each_vector(effects, [&](auto& vector, bool is_record) {
    vector.emplace_back();
    EXPECT_EQ(effects.has_records(), is_record) << "vector " << kind;
    vector.clear();
    ++kind;
  });
  EXPECT_EQ(kind, 13);
}

TEST(Effects, AreClearedWholeAndKeepTheirMemoryForTheNextTurn) {
  Effects effects;
  const auto fill = [&] { for_each_vector(effects, [](auto& v, bool) { v.emplace_back(); }); };
  fill();
  effects.clear();
  for_each_vector(effects, [](auto& vector, bool) { EXPECT_TRUE(vector.empty()); });
  const std::uint64_t before = test::allocations();
  fill();
  EXPECT_EQ(test::allocations(), before);
}

}  // namespace
}  // namespace pawl

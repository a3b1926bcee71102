// The work for one message does not grow with what else is held: instructions are counted.
#include <gtest/gtest.h>

#include <cstdint>

#include "core/seq_index.h"
#include "tests/core/instructions.h"

namespace pawl::test {
namespace {

constexpr std::uint64_t page = SeqIndex::page_entries;

// Two messages, one of the first page and one of the last, are taken by turns.
std::uint64_t choosing_among_delayed(std::uint64_t pages) {
  PagePool pool;
  SeqIndex index(pool);
  for (std::uint64_t n = 0; n < pages; ++n) index.put(n * page + 1, Place::slot(1));
  const auto take = [&](Seq seq) {
    index.make_ready(seq, SeqIndex::Set::fresh);
    index.make_unready(index.first_ready(SeqIndex::Set::fresh));
  };
  return instructions([&] {
    for (int i = 0; i < 2; ++i) {
      take(1);
      take((pages - 1) * page + 1);
    }
  });
}

TEST(Cost, OfChoosingAMessageDoesNotGrowWithDelayedOnes) {
  EXPECT_LT(choosing_among_delayed(1'000), 2 * choosing_among_delayed(4));
}

}  // namespace
}  // namespace pawl::test

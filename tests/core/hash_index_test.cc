// SPDX-License-Identifier: Apache-2.0
#include "core/containers/hash_index.h"

#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <string>

#include "tests/sim/random.h"

namespace pawl {
namespace {

struct Hashes {
  const char* name;
  std::uint64_t mask;  // the bits in which hashes differ
};

TEST(HashIndex, FindsWhatAMapFinds) {
  const Hashes kinds[] = {
      {"well spread",        UINT64_MAX                    },
      {"few of them",        7                             },
      {"all the same",       0                             },
      {"high bits only",     std::uint64_t{0xFF} << 56     },
      {"at the table's end", (std::uint64_t{63} << 58) | 15},
  };
  for (const Hashes& kind : kinds) {
    for (const std::size_t most : {10u, 300u}) {
      SCOPED_TRACE(std::string(kind.name) + ", at most " + std::to_string(most));
      sim::Random random(most);
      HashIndex index;
      std::map<std::uint32_t, std::uint64_t> model;  // hash by number
      const auto hash_of = [&](std::uint32_t n) { return model.at(n); };
      for (int i = 0; i < 5000; ++i) {
        const auto number = static_cast<std::uint32_t>(random.below(4 * most));
        const auto known = model.find(number);
        if (known != model.end()) {
          ASSERT_EQ(index.find(known->second, [&](std::uint32_t n) { return n == number; }),
                    number);
          if (model.size() > random.below(most)) {
            index.erase(known->second, number, hash_of);
            model.erase(known);
          }
        } else {
          const std::uint64_t hash = random.next() & kind.mask;
          ASSERT_EQ(index.find(hash, [&](std::uint32_t n) { return n == number; }),
                    HashIndex::none);
          model[number] = hash;
          index.put(hash, number, hash_of);
        }
      }
      for (const auto& [number, hash] : model)
        EXPECT_EQ(index.find(hash, [&](std::uint32_t n) { return n == number; }), number);
    }
  }
}

TEST(HashIndex, KeepsEverythingWhileItGrowsAndShrinks) {
  HashIndex index;
  const auto hash_of = [](std::uint32_t n) { return n * 0x9E3779B97F4A7C15ull; };
  const auto found = [&](std::uint32_t n) {
    return index.find(hash_of(n), [n](std::uint32_t m) { return m == n; }) == n;
  };
  constexpr std::uint32_t many = 50'000;  // enough to split the index into parts
  for (std::uint32_t n = 0; n < many; ++n) index.put(hash_of(n), n, hash_of);
  for (std::uint32_t n = 0; n < many; ++n) ASSERT_TRUE(found(n)) << n;
  for (std::uint32_t n = 0; n < many; n += 2) index.erase(hash_of(n), n, hash_of);
  for (std::uint32_t n = 0; n < many; ++n) ASSERT_EQ(found(n), n % 2 == 1) << n;
  for (std::uint32_t n = 1; n < many; n += 2) index.erase(hash_of(n), n, hash_of);
  for (std::uint32_t n = 0; n < many; ++n) ASSERT_FALSE(found(n)) << n;
  index.put(hash_of(7), 7, hash_of);
  EXPECT_TRUE(found(7));
}

}  // namespace
}  // namespace pawl

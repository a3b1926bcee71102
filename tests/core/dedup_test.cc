// SPDX-License-Identifier: Apache-2.0
#include "core/queue/dedup.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/core/secret.h"
#include "tests/sim/random.h"

namespace pawl {
namespace {

const Secret secret = test::test_secret();

TEST(TextKey, TellsTextsAndGroupsApart) {
  const TextKey plain = text_key(secret, "x");
  EXPECT_EQ(plain, text_key(secret, "x"));
  EXPECT_EQ(plain, text_key(secret, "", "x")) << "without a group, the text's own";
  EXPECT_NE(plain, text_key(secret, "y"));
  EXPECT_NE(plain, text_key(secret, "g", "x"));
  EXPECT_NE(text_key(secret, "g", "x"), text_key(secret, "h", "x"));
  EXPECT_NE(text_key(secret, "ab", "c"), text_key(secret, "a", "bc"));
  EXPECT_NE(text_key(secret, "x", "g"), text_key(secret, "g", "x"));
  EXPECT_NE(text_key(secret, ""), TextKey{}) << "zero is none";
  Secret other = secret;
  other[0] ^= 1;
  EXPECT_NE(plain, text_key(other, "x"));
}

TEST(Dedup, KnowsAMessageUntilExactlyFiveMinutesAfterIt) {
  std::uint64_t total = 0, bytes = 0;
  Dedup dedup(total, bytes);
  const TextKey key = text_key(secret, "x");
  const Instant sent{1'000'000};
  EXPECT_EQ(dedup.find(key, sent), 0u);
  dedup.add(key, 7, sent);
  EXPECT_EQ(dedup.find(key, sent), 7u);
  EXPECT_EQ(dedup.find(key, sent + seconds(300) - milliseconds(1)), 7u);
  EXPECT_EQ(dedup.find(key, sent + seconds(300)), 0u);
  EXPECT_EQ(dedup.size(), 0u);
}

// Expired entries are ignored at once, also if the clock is set back, but freed a few at a time.
TEST(Dedup, DoesNotKnowWhatIsOverThoughItIsStillThere) {
  std::uint64_t total = 0, bytes = 0;
  Dedup dedup(total, bytes);
  const Instant sent{1'000'000};
  for (Seq seq = 1; seq <= 1000; ++seq) dedup.add(text_key(secret, std::to_string(seq)), seq, sent);
  const Instant later = sent + seconds(300);
  const TextKey last = text_key(secret, "1000");
  EXPECT_EQ(dedup.find(last, later), 0u);
  EXPECT_GT(dedup.size(), 900u) << "no turn has to drop all of them";
  dedup.add(last, 1001, later);
  EXPECT_EQ(dedup.find(last, later), 1001u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(dedup.find(last, later), 1001u);
  EXPECT_EQ(dedup.size(), 1u);
}

TEST(Dedup, IsWhatAMapSays) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    sim::Random random(seed);
    std::uint64_t total = 0, bytes = 0;
    Dedup dedup(total, bytes);
    struct Known {
      Seq seq;
      Instant sent;
    };
    std::map<std::uint64_t, Known> model;
    Instant now{1'000'000};
    Seq next = 1;
    for (int i = 0; i < 20'000; ++i) {
      now = now + milliseconds(static_cast<std::int64_t>(
                      random.below(random.chance(1, 500) ? 200'000 : 300)));
      const std::uint64_t name = random.below(3000);
      const TextKey key = text_key(secret, std::to_string(name));
      const auto it = model.find(name);
      const Seq want =
          it != model.end() && it->second.sent + seconds(300) > now ? it->second.seq : 0;
      ASSERT_EQ(dedup.find(key, now), want);
      if (want == 0) {
        dedup.add(key, next, now);
        model[name] = {next++, now};
      }
      if (next > 10 && random.chance(1, 3000)) {
        const Seq below = next - random.below(10);
        dedup.forget_below(below);
        std::erase_if(model, [&](const auto& entry) { return entry.second.seq < below; });
      }
    }
  }
}

TEST(Dedup, TellsTheEndOfTheWindowOfAMessage) {
  std::uint64_t entries = 0, bytes = 0;
  Dedup dedup(entries, bytes);
  dedup.add({1, 1}, 5, Instant{1000});
  dedup.add({1, 2}, 9, Instant{2000});
  EXPECT_EQ(dedup.over_at(5, Instant{3000}), Instant{1000} + dedup_window);
  EXPECT_EQ(dedup.over_at(9, Instant{1000} + dedup_window), Instant{2000} + dedup_window);
  EXPECT_EQ(dedup.over_at(5, Instant{1000} + dedup_window), Instant{});
  EXPECT_EQ(dedup.over_at(4, Instant{3000}), Instant{});
  EXPECT_EQ(dedup.over_at(7, Instant{3000}), Instant{});
  EXPECT_EQ(dedup.over_at(10, Instant{3000}), Instant{});
}

}  // namespace
}  // namespace pawl

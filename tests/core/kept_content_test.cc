// SPDX-License-Identifier: Apache-2.0
#include "core/queue/kept_content.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

namespace pawl {
namespace {

// A content whose texts lie in memory that ends with it.
struct Stored {
  std::string body = "the body", attributes = "attributes", system = "system", sender = "AIDA",
              group = "g", dedup_id = "d", origin = "0/source";
  std::array<std::uint8_t, 16> md5{1, 2, 3};
  Content content() const {
    return {.body = body,
            .attributes = attributes,
            .system = system,
            .sender = sender,
            .group = group,
            .dedup_id = dedup_id,
            .origin = origin,
            .body_md5 = &md5,
            .replayed = true};
  }
  void overwrite() {
    for (std::string* text : {&body, &attributes, &system, &sender, &group, &dedup_id, &origin})
      std::ranges::fill(*text, '!');
    md5 = {};
  }
};

TEST(KeptContent, HasEveryPartWhenTheLogHasFreedTheMessage) {
  Stored stored;
  KeptContent kept;
  kept.keep(stored.content());
  stored.overwrite();
  EXPECT_EQ(kept.content.body, "the body");
  EXPECT_EQ(kept.content.attributes, "attributes");
  EXPECT_EQ(kept.content.system, "system");
  EXPECT_EQ(kept.content.sender, "AIDA");
  EXPECT_EQ(kept.content.group, "g");
  EXPECT_EQ(kept.content.dedup_id, "d");
  EXPECT_EQ(kept.content.origin, "0/source");
  EXPECT_TRUE(kept.content.replayed);
  ASSERT_NE(kept.content.body_md5, nullptr);
  EXPECT_EQ((*kept.content.body_md5)[2], 3);
}

TEST(KeptContent, IsReplacedByTheNextOne) {
  const Stored stored;
  KeptContent kept;
  kept.keep(stored.content());
  const std::string longer(10'000, 'x');
  kept.keep({.body = longer});
  EXPECT_EQ(kept.content.body, longer);
  EXPECT_EQ(kept.bytes.size(), longer.size());
  EXPECT_TRUE(kept.content.group.empty());
  EXPECT_TRUE(kept.content.origin.empty());
  EXPECT_FALSE(kept.content.replayed);
  EXPECT_EQ(kept.content.body_md5, nullptr) << "the digest of another body";
}

TEST(KeptContent, MayBeEmpty) {
  KeptContent kept;
  kept.keep({});
  EXPECT_TRUE(kept.content.body.empty());
  EXPECT_EQ(kept.content.body_md5, nullptr);
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/connection/reloadable_settings.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(ReloadableSettings, HaveANewGenerationForEachPublishedValue) {
  const auto first = std::make_shared<const Keyring>(), second = std::make_shared<const Keyring>();
  ReloadableSettings settings({.tls = nullptr, .keys = first});
  const std::uint64_t begun = settings.generation();
  EXPECT_NE(begun, 0u) << "a shard that has seen none takes the first value";
  EXPECT_EQ(settings.current().keys, first);
  EXPECT_EQ(settings.generation(), begun) << "reading changes nothing";
  settings.publish({.tls = nullptr, .keys = second});
  EXPECT_EQ(settings.generation(), begun + 1);
  EXPECT_EQ(settings.current().keys, second);
  settings.publish({.tls = nullptr, .keys = second});
  EXPECT_EQ(settings.generation(), begun + 2);
}

TEST(ReloadableSettings, KeepAValueAsLongAsAReaderHasIt) {
  auto first = std::make_shared<const Keyring>();
  const std::weak_ptr<const Keyring> alive = first;
  ReloadableSettings settings({.tls = nullptr, .keys = std::move(first)});
  {
    const ReloadableSettings::Values taken = settings.current();
    settings.publish({});
    EXPECT_EQ(settings.current().keys, nullptr);
    EXPECT_FALSE(alive.expired());
  }
  EXPECT_TRUE(alive.expired());
}

}  // namespace
}  // namespace pawl

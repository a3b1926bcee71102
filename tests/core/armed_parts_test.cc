// SPDX-License-Identifier: Apache-2.0
#include "core/base/armed_parts.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

enum class Part : std::uint8_t { first, second, last = 31 };

TEST(ArmedParts, AreArmedUntilTheyAreTaken) {
  ArmedParts<Part> parts;
  EXPECT_FALSE(parts.any());
  EXPECT_FALSE(parts.take(Part::first));
  parts.arm(Part::first);
  parts.arm(Part::first);
  parts.arm(Part::last);
  EXPECT_TRUE(parts.has(Part::first) && parts.has(Part::last));
  EXPECT_FALSE(parts.has(Part::second));
  EXPECT_TRUE(parts.take(Part::first));
  EXPECT_FALSE(parts.take(Part::first));
  EXPECT_TRUE(parts.any());
  EXPECT_TRUE(parts.take(Part::last));
  EXPECT_FALSE(parts.any());
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/text/uuid.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "core/queue/receipt.h"

namespace pawl {
namespace {

constexpr MessageId id{0x0123'4567'89AB'CDEF, 0xFEDC'BA98'7654'3210};

TEST(ParseUuid, TakesDigitsOfEitherCase) {
  const std::array<char, 36> text = uuid_text(id);
  EXPECT_EQ(parse_uuid({text.data(), text.size()}), id);
  EXPECT_EQ(parse_uuid("01234567-89AB-CDEF-fedc-ba9876543210"), id);
}

TEST(ParseUuid, RefusesAllElse) {
  for (const std::string_view other :
       {"", "1", "0123456789abcdef-fedc-ba98-76543210", "01234567-89ab-cdef-fedc-ba98765432100",
        "01234567-89ab-cdef-fedc-ba987654321", "01234567-89ab-cdef-fedc-ba987654321g",
        "0123456-789ab-cdef-fedc-ba9876543210", "01234567-89ab-cdef-fedc-ba98765432-0",
        "01234567089ab-cdef-fedc-ba9876543210", " 1234567-89ab-cdef-fedc-ba9876543210",
        "00000000-0000-0000-0000-000000000000"})
    EXPECT_FALSE(parse_uuid(other)) << other;
}

}  // namespace
}  // namespace pawl

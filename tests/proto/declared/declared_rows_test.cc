// SPDX-License-Identifier: Apache-2.0
#include "proto/declared/declared_rows.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(DeclaredRows, ARowFindsItsAttributesAndKnowsItsType) {
  DeclaredRow row;
  row.name = "orders.fifo";
  row.attributes = {
      {"DelaySeconds", "5", "f:2:1"}
  };
  EXPECT_TRUE(row.is_fifo());
  ASSERT_NE(row.find("DelaySeconds"), nullptr);
  EXPECT_EQ(row.find("DelaySeconds")->value, "5");
  EXPECT_EQ(row.find("Delay"), nullptr);
  row.name = "orders.fifo.old";
  EXPECT_FALSE(row.is_fifo());
}

TEST(DeclaredRows, ErrorsNameARowByItsKind) {
  const std::pair<DeclaredKind, const char*> cases[] = {
      {DeclaredKind::queue,        "queue q"                },
      {DeclaredKind::topic,        "topic q"                },
      {DeclaredKind::subscription, "subscription to topic q"},
      {DeclaredKind::message,      "message for queue q"    },
      {DeclaredKind::schedule,     "schedule q"             },
  };
  for (const auto& [kind, text] : cases) {
    DeclaredRow row;
    row.kind = kind;
    row.name = "q";
    EXPECT_EQ(describe(row), text);
  }
}

}  // namespace
}  // namespace pawl

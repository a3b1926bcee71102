// SPDX-License-Identifier: Apache-2.0
// Receipt handles of version 1, whose key can be found: they are valid for 12 hours, and only for
// deliveries made before the upgrade.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tests/core/script.h"
#include "tests/core/secret.h"

namespace pawl::test {
namespace {

// The handle that version 1 returned for this delivery; anyone who found its key can forge it.
ReceiptHandle of_version_1(ReceiptHandle handle) {
  handle[0] = 1;
  const Secret secret = test_secret();
  const std::uint64_t mac = XXH3_64bits_withSecret(handle.data(), 16, secret.data(), secret.size());
  std::memcpy(&handle[16], &mac, sizeof mac);
  return handle;
}

struct OldHandles : testing::Test {
  Errc delete_message(const std::string& name) {
    Ask& ask = script.world().receipts(Op::delete_message, script.queue("q"),
                                       {of_version_1(script.handle(name))}, Duration{});
    return ask.request.receipts[0].error;
  }
  Script script;
};

TEST_F(OldHandles, OfBeforeTheUpgradeDelete) {
  script.run("queue q visibility=12h | send q a | receive q -> a#1");
  script.world().upgrade_at_next_start();
  script.run("restart 1s | count q -> 0/1/0");
  EXPECT_EQ(delete_message("a#1"), Errc::ok);
  script.run("count q -> 0/0/0");
}

TEST_F(OldHandles, AreValidForTwelveHours) {
  script.run("queue q visibility=12h | send q a | receive q -> a#1");
  script.world().upgrade_at_next_start();
  script.run("restart 1s | advance 11h | restart 1s | advance 3599s");
  EXPECT_EQ(delete_message("a#1"), Errc::receipt_invalid) << "a second too late";
  script.run("count q -> 1/0/0");
}

TEST_F(OldHandles, OfADeliveryMadeSinceAreForged) {
  script.run("queue q visibility=0 | send q a b");
  script.world().upgrade_at_next_start();
  script.run("restart 1s | receive q max=10 -> a#1 b#1");
  EXPECT_EQ(delete_message("a#1"), Errc::receipt_invalid);
  script.run("count q -> 2/0/0");
}

TEST_F(OldHandles, OfADirectoryOfThisVersionAreForged) {
  script.run("queue q | send q a | receive q -> a#1 | restart 1s");
  EXPECT_EQ(delete_message("a#1"), Errc::receipt_invalid);
}

}  // namespace
}  // namespace pawl::test

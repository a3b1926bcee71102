// SPDX-License-Identifier: Apache-2.0
#include "wal/repair/report.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(RepairReport, NumbersAreShownAsRuns) {
  EXPECT_EQ(numbers({}), "");
  EXPECT_EQ(numbers({7}), "7");
  EXPECT_EQ(numbers({1, 2, 3, 7, 9, 10}), "1-3, 7, 9-10");
}

TEST(RepairReport, AGuessNamesRecordsMessagesAndSettings) {
  EXPECT_EQ(describe_guess({}), "");
  Guess guess;
  guess.records = {
      {"send",     2},
      {"settings", 1}
  };
  guess.messages["send"][QueueId{1}] = {7, 8};
  guess.settings = {"queue 3"};
  guess.unrecognized_bytes = 300;
  EXPECT_EQ(describe_guess(guess),
            "2 send (queue 1: 7-8), 1 settings (queue 3), 300 unrecognized bytes");
}

}  // namespace
}  // namespace pawl

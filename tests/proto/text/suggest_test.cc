// SPDX-License-Identifier: Apache-2.0
#include "proto/text/suggest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pawl {
namespace {

const std::vector<std::string> words = {"serve", "receive", "queue", "x-lag-target"};

TEST(Suggest, FindsTheNearestWord) {
  EXPECT_EQ(did_you_mean("sevre", words), "serve") << "a swap is one mistake";
  EXPECT_EQ(did_you_mean("que", words), "queue") << "its beginning";
  EXPECT_EQ(did_you_mean("x-lagtarget", words), "x-lag-target");
  EXPECT_EQ(suggestion("recieve", words), R"( Did you mean "receive"?)");
}

TEST(Suggest, FindsNothingThatIsFar) {
  for (const std::string& word : {std::string("colour"), std::string(), std::string(100, 's')}) {
    EXPECT_EQ(did_you_mean(word, words), "") << word;
    EXPECT_EQ(suggestion(word, words), "") << word;
  }
}

}  // namespace
}  // namespace pawl

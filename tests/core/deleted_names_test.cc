// SPDX-License-Identifier: Apache-2.0
// Names of deleted queues: their waiting time, and the limit of remembered names.
#include "core/queue/deleted_names.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace pawl {
namespace {

ConfigPtr deleted(const std::string& name, std::int64_t at_ms, const std::string& account = "1") {
  auto config = std::make_shared<QueueConfig>();
  config->set_name(account, name);
  config->modified = Instant{at_ms};
  return config;
}

TEST(DeletedNames, WaitFromTheirDeletionOn) {
  DeletedNames names(seconds(60));
  names.add(deleted("q", 1000));
  EXPECT_TRUE(names.waits("1", "q", Instant{60'999}));
  EXPECT_FALSE(names.waits("1", "q", Instant{61'000}));
  EXPECT_FALSE(names.waits("2", "q", Instant{2000}));
  names.free("1", "q");
  EXPECT_FALSE(names.waits("1", "q", Instant{2000}));
}

TEST(DeletedNames, OfTopicsAndWithoutAWaitAreNotRemembered) {
  DeletedNames names(seconds(60));
  names.add(deleted("t", 1000, "sns/1"));
  EXPECT_EQ(names.memory(), 0u);
  DeletedNames none(Duration{0});
  none.add(deleted("q", 1000));
  EXPECT_EQ(none.memory(), 0u);
}

TEST(DeletedNames, AreForgottenInTheOrderOfTheirDeletions) {
  DeletedNames names(seconds(60));
  names.add(deleted("a", 1000));
  names.add(deleted("b", 2000));
  names.add(deleted("a", 3000));  // created and deleted again, by a server without the wait
  const std::size_t three = names.memory();
  names.forget(Instant{62'000}, 1);
  EXPECT_TRUE(names.waits("1", "a", Instant{62'000}));
  EXPECT_EQ(names.memory(), three / 3 * 2);
  names.forget(Instant{62'999}, 10);
  EXPECT_EQ(names.memory(), three / 3);
  EXPECT_TRUE(names.waits("1", "a", Instant{62'999}));
  names.forget(Instant{63'000}, 10);
  EXPECT_EQ(names.memory(), 0u);
  EXPECT_EQ(names.next(nullptr), nullptr);
}

TEST(DeletedNames, AreAtMostSoMany) {
  DeletedNames names(seconds(60));
  for (std::size_t i = 0; i <= DeletedNames::names_max; ++i)
    names.add(deleted(std::to_string(i), 1000));
  EXPECT_FALSE(names.waits("1", "0", Instant{1000}));
  EXPECT_TRUE(names.waits("1", "1", Instant{1000}));
  EXPECT_TRUE(names.waits("1", std::to_string(DeletedNames::names_max), Instant{1000}));
}

TEST(DeletedNames, AreWalkedInTheOrderOfNames) {
  DeletedNames names(seconds(60));
  for (const char* const name : {"b", "c", "a"}) names.add(deleted(name, 1000));
  std::vector<std::string> walked;
  for (ConfigPtr at = names.next(nullptr); at != nullptr; at = names.next(at))
    walked.push_back(at->name);
  EXPECT_EQ(walked, (std::vector<std::string>{"a", "b", "c"}));
  const ConfigPtr last = names.next(nullptr);
  names.forget(Instant{61'000}, 3);
  EXPECT_EQ(names.next(last), nullptr) << "the place of a walk may be forgotten";
}

}  // namespace
}  // namespace pawl

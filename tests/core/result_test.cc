// SPDX-License-Identifier: Apache-2.0
#include "core/base/result.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace pawl {
namespace {

TEST(Result, NamesEveryErrorDifferently) {
  std::set<std::string> names;
  for (int code = 0; code <= static_cast<int>(Errc::message_numbers_used_up); ++code)
    names.emplace(name_of(static_cast<Errc>(code)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(Errc::message_numbers_used_up) + 1);
  EXPECT_FALSE(names.contains("unknown"));
}

TEST(Result, CarriesWhatFailedAndTheErrno) {
  const Result<int> result = fail(Errc::io, "write", 28);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, Errc::io);
  EXPECT_EQ(result.error().sys, 28);
  EXPECT_STREQ(result.error().what, "write");
}

TEST(Result, NamesAnErrorAsTheSourceDoesAndAForeignNumberUnknown) {
  EXPECT_EQ(name_of(Errc::ok), "ok");
  EXPECT_EQ(name_of(Errc::no_such_queue), "no_such_queue");
  EXPECT_EQ(name_of(Errc::message_numbers_used_up), "message_numbers_used_up");
  EXPECT_EQ(name_of(static_cast<Errc>(errc_count)), "unknown");
  EXPECT_EQ(name_of(static_cast<Errc>(255)), "unknown");
}

// The numbers are on disk: wal/FORMAT.md lists them.
TEST(Result, KeepsTheNumbersOfErrorsThatAreOnDisk) {
  EXPECT_EQ(static_cast<int>(Errc::no_such_queue), 1);
  EXPECT_EQ(static_cast<int>(Errc::source_unknown), 14);
  EXPECT_EQ(static_cast<int>(Errc::message_numbers_used_up), 30);
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "bench/load_seconds.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

using load::Interval;

class SecondsOfThreadsTest : public testing::Test {
 protected:
  // A second with a message of this latency, and a refused one.
  void pass(std::uint32_t thread, std::uint64_t second, std::uint64_t latency = 1000) {
    Histogram one;
    one.record(latency);
    seconds_.passed(thread, {.second = second, .messages = 1, .errors = 1, .latency = &one});
  }

  struct Second {
    std::uint64_t second, messages, errors, latencies;
    bool operator==(const Second&) const = default;
  };
  using Seconds = std::vector<Second>;
  Seconds complete_;
  const load::SecondPassed note_ = [this](const Interval& i) {
    complete_.push_back({i.second, i.messages, i.errors, i.latency->count()});
  };
  load::SecondsOfThreads seconds_{3, note_};
};

TEST_F(SecondsOfThreadsTest, AreCompleteWhenEachThreadHasPassedThem) {
  pass(0, 1);
  pass(0, 2);
  pass(1, 1);
  EXPECT_EQ(complete_, Seconds());
  pass(2, 1);
  EXPECT_EQ(complete_, (Seconds{
                           {1, 3, 3, 3}
  }));
  pass(2, 2);
  pass(1, 2);
  EXPECT_EQ(complete_, (Seconds{
                           {1, 3, 3, 3},
                           {2, 3, 3, 3}
  }));
}

TEST_F(SecondsOfThreadsTest, AreWholeWhenThreadsEndAfterThem) {
  for (const std::uint32_t thread : {0u, 1u, 2u}) {
    EXPECT_EQ(complete_, Seconds()) << "threads are yet to pass it";
    pass(thread, 1);
    seconds_.ended(thread);
  }
  EXPECT_EQ(complete_, (Seconds{
                           {1, 3, 3, 3}
  }));
}

TEST_F(SecondsOfThreadsTest, WaitForNoThreadThatEndedBefore) {
  pass(0, 1);
  pass(1, 1);
  pass(0, 2);
  seconds_.ended(2);
  EXPECT_EQ(complete_, (Seconds{
                           {1, 2, 2, 2}
  }));
  pass(0, 3);
  seconds_.ended(0);
  EXPECT_EQ(complete_.size(), 1u) << "thread 1 may still pass it";
  seconds_.ended(1);
  EXPECT_EQ(complete_, (Seconds{
                           {1, 2, 2, 2},
                           {2, 1, 1, 1},
                           {3, 1, 1, 1}
  }));
}

}  // namespace
}  // namespace pawl

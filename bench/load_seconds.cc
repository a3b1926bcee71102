// SPDX-License-Identifier: Apache-2.0
#include "bench/load_seconds.h"

#include <algorithm>

#include "core/base/check.h"

namespace pawl::load {
namespace {

constexpr std::uint64_t all_seconds = UINT64_MAX;  // a thread that ended delays none

}  // namespace

SecondsOfThreads::SecondsOfThreads(std::uint32_t threads, const SecondPassed& complete)
    : passed_(threads), complete_(complete) {
  CHECK(threads > 0, "no thread");
}

void SecondsOfThreads::passed(std::uint32_t thread, const Interval& interval) {
  const std::lock_guard lock(mutex_);
  CHECK(thread < passed_.size(), "thread {} of {}", thread, passed_.size());
  CHECK(interval.second == passed_[thread] + 1, "thread {} passes second {} after {}", thread,
        interval.second, passed_[thread]);
  passed_[thread] = interval.second;
  Sum& sum = sums_[interval.second];
  sum.messages += interval.messages;
  sum.errors += interval.errors;
  sum.latency.merge(*interval.latency);
  report_complete();
}

void SecondsOfThreads::ended(std::uint32_t thread) {
  const std::lock_guard lock(mutex_);
  CHECK(thread < passed_.size() && passed_[thread] != all_seconds, "thread {} of {} ends twice",
        thread, passed_.size());
  passed_[thread] = all_seconds;
  report_complete();
}

void SecondsOfThreads::report_complete() {
  const std::uint64_t complete = *std::ranges::min_element(passed_);
  while (!sums_.empty() && sums_.begin()->first <= complete) {
    const auto& [second, sum] = *sums_.begin();
    complete_({second, sum.messages, sum.errors, &sum.latency});
    sums_.erase(sums_.begin());
  }
}

}  // namespace pawl::load

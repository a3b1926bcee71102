// SPDX-License-Identifier: Apache-2.0
// Allocations: the figures of every micro-benchmark, time and allocations of one operation.
#pragma once

#include <benchmark/benchmark.h>

#include "tests/core/allocations.h"

namespace pawl::bench {

// Counts allocations from its construction until done(); `items` is the benchmark's total number of
// operations.
class Allocations {
 public:
  explicit Allocations(benchmark::State& state) : state_(state), before_(test::allocations()) {}
  void done(std::int64_t items) {
    const auto made = static_cast<double>(test::allocations() - before_);
    state_.SetItemsProcessed(items);
    state_.counters["allocs/op"] = made / static_cast<double>(items);
    state_.counters["time/op"] = benchmark::Counter(
        static_cast<double>(items), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  }

 private:
  benchmark::State& state_;
  std::uint64_t before_;
};

}  // namespace pawl::bench

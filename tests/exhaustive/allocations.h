// SPDX-License-Identifier: Apache-2.0
// Allocations: makes the N-th allocation of the broker fail; those of the test do not count.
//
// The program's operator new counts while a Counted is alive and no Uncounted inside it. After
// `left` allocations one throws std::bad_alloc; the nothrow form returns null.
//
// Owner:  one thread.
#pragma once

#include <cstdint>
#include <utility>

namespace pawl::exhaustive {

struct Allocations {
  bool counted = false;
  std::uint64_t left = UINT64_MAX;  // allocations before one fails
  std::uint64_t seen = 0;
  bool failed = false;
};

inline Allocations allocations;

template <bool on>
class CountedIf {
 public:
  CountedIf() : before_(std::exchange(allocations.counted, on)) {}
  ~CountedIf() { allocations.counted = before_; }
  CountedIf(const CountedIf&) = delete;
  CountedIf& operator=(const CountedIf&) = delete;

 private:
  bool before_;
};
using Counted = CountedIf<true>;
using Uncounted = CountedIf<false>;

}  // namespace pawl::exhaustive

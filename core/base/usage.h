// SPDX-License-Identifier: Apache-2.0
// UsageCounter: the part of one structure in a total that several structures share, in bytes or as
// a number. The part is subtracted when the structure is destroyed.
//
// Owner: the structure; the total outlives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "core/base/check.h"

namespace pawl {

inline constexpr std::size_t heap_block_bytes = 16;  // allocator overhead per block

// Heap bytes of a text besides its object; a short text has none.
inline std::size_t memory_of(std::size_t length) {
  return length < sizeof(std::string) / 2 ? 0 : length + 1 + heap_block_bytes;
}
inline std::size_t memory_of(const std::string& text) { return memory_of(text.capacity()); }

class UsageCounter {
 public:
  explicit UsageCounter(std::uint64_t& total) : total_(&total) {}
  ~UsageCounter() { set(0); }
  UsageCounter(UsageCounter&& other) noexcept
      : total_(other.total_), count_(std::exchange(other.count_, 0)) {}
  UsageCounter(const UsageCounter&) = delete;
  UsageCounter& operator=(const UsageCounter&) = delete;

  void set(std::uint64_t count) {
    CHECK(*total_ >= count_, "{} of a total of {}", count_, *total_);
    *total_ += count - count_;
    count_ = count;
  }
  void add(std::uint64_t count) { set(count_ + count); }
  void drop(std::uint64_t count) {
    CHECK(count <= count_, "{} of {}", count, count_);
    set(count_ - count);
  }

 private:
  std::uint64_t* total_;
  std::uint64_t count_ = 0;
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Share: the part of one structure in an account shared with others, in bytes or as a number. Its
// part is subtracted when the structure is destroyed.
//
// Owner: the structure; the account outlives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace pawl {

inline constexpr std::size_t heap_block_bytes = 16;  // allocator overhead per block

// Heap bytes of a text besides its object; a short text has none.
inline std::size_t memory_of(std::size_t length) {
  return length < sizeof(std::string) / 2 ? 0 : length + 1 + heap_block_bytes;
}
inline std::size_t memory_of(const std::string& text) { return memory_of(text.capacity()); }

class Share {
 public:
  explicit Share(std::uint64_t& account) : account_(&account) {}
  ~Share() { set(0); }
  Share(Share&& other) noexcept
      : account_(other.account_), count_(std::exchange(other.count_, 0)) {}
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;

  void set(std::uint64_t count) {
    *account_ += count - count_;
    count_ = count;
  }
  void add(std::uint64_t count) { set(count_ + count); }
  void drop(std::uint64_t count) { set(count_ - count); }

 private:
  std::uint64_t* account_;
  std::uint64_t count_ = 0;
};

}  // namespace pawl

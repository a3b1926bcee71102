// SPDX-License-Identifier: Apache-2.0
// PageBlock: memory for O_DIRECT, aligned to a page.
//
// Limits: a multiple of block_bytes.
// Errors: none; a failed memory allocation is a CHECK.
// Owner:  whoever holds it; a move leaves nothing behind.
#pragma once

#include <cstddef>
#include <span>

namespace pawl {

class PageBlock {
 public:
  PageBlock() = default;
  explicit PageBlock(std::size_t bytes);  // the contents are unspecified
  ~PageBlock();
  PageBlock(PageBlock&& other) noexcept;
  PageBlock& operator=(PageBlock&& other) noexcept;

  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }
  std::span<std::byte> span() const { return {data_, bytes_}; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace pawl

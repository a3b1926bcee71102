// A slab: rows of one type, known by a 32-bit index, taken and given back in O(1), never moved.
//
// Limits: `rows_max` rows; take() answers none when they are used up.
// Owner:  one shard. Memory comes in blocks of `block_rows` rows and is kept.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/check.h"

namespace pawl {

template <typename Row, std::uint32_t rows_a_block = 1024>
class Slab {
 public:
  static constexpr std::uint32_t none = 0;  // rows count from 1
  static constexpr std::uint32_t block_rows = rows_a_block;

  explicit Slab(std::uint32_t rows_max) : rows_max_(rows_max) {}

  // A row as it was left (its generation survives), or `none` when all are taken.
  std::uint32_t take() {
    if (!free_.empty()) {
      const std::uint32_t index = free_.back();
      free_.pop_back();
      return index;
    }
    if (made_ == rows_max_) return none;
    if (made_ % block_rows == 0) blocks_.push_back(std::make_unique<Row[]>(block_rows));
    return ++made_;
  }
  void give(std::uint32_t index) {
    VERIFY(index != none && index <= made_);
    free_.push_back(index);
  }
  Row& operator[](std::uint32_t index) {
    return blocks_[(index - 1) / block_rows][(index - 1) % block_rows];
  }
  const Row& operator[](std::uint32_t index) const {
    return blocks_[(index - 1) / block_rows][(index - 1) % block_rows];
  }
  std::size_t taken() const { return made_ - free_.size(); }
  std::size_t bytes() const {
    return blocks_.size() * block_rows * sizeof(Row) + free_.capacity() * sizeof(std::uint32_t);
  }
  bool full() const { return free_.empty() && made_ == rows_max_; }

 private:
  std::uint32_t rows_max_;
  std::uint32_t made_ = 0;
  std::vector<std::unique_ptr<Row[]>> blocks_;
  std::vector<std::uint32_t> free_;
};

}  // namespace pawl

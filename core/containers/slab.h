// SPDX-License-Identifier: Apache-2.0
// A slab: rows of one type with a 32-bit index, taken and freed in O(1), never moved.
//
// Memory is allocated in blocks of `block_rows` rows. Rows are taken from the lowest block with a
// free row, so that the other blocks become empty. Empty blocks are freed, except `spare_blocks`.
// The rows of a reallocated block begin with a generation that no freed row had. A slab that often
// has few rows may begin with a small block of `first_rows`, which is never freed.
//
// Limits: `rows_max` rows; take() returns none when that many or more are taken or reserved.
// Owner:  one shard.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/check.h"

namespace pawl {

template <typename Row, std::uint32_t rows_a_block = 1024, std::uint32_t first_rows = rows_a_block>
class Slab {
 public:
  static constexpr std::uint32_t none = 0;  // rows count from 1
  static constexpr std::uint32_t block_rows = rows_a_block;

  explicit Slab(std::uint32_t rows_max, std::size_t spare_blocks = 1)
      : rows_max_(rows_max), spare_blocks_(spare_blocks) {}

  // Taken rows beyond the new limit stay.
  void set_max(std::uint32_t rows_max) { rows_max_ = rows_max; }

  // Keeps free rows from take(), until unreserve() releases them to their holder.
  void reserve(std::uint32_t rows) {
    CHECK(rows <= free(), "{} of {} free rows", rows, free());
    reserved_ += rows;
  }
  void unreserve(std::uint32_t rows) {
    CHECK(rows <= reserved_, "{} of {} reserved rows", rows, reserved_);
    reserved_ -= rows;
  }

  // Returns a row, with its old contents or from a new block; `none` when all are taken.
  std::uint32_t take() {
    const std::uint32_t number = block_with_free_row();
    if (number == no_block) return none;
    Block& block = blocks_[number];
    CHECK(block.rows != nullptr && block.taken < rows_of(number), "block {} is full", number);
    if (block.taken == 0 && may_go(number)) {
      CHECK(empty_ > 0);
      --empty_;
    }
    const std::uint32_t at = block.free;
    CHECK(at < rows_of(number), "free row {} of block {}", at, number);
    block.free = block.next_free[at];
    if (++block.taken == rows_of(number)) set_free_row(number, false);
    ++taken_;
    return number * block_rows + at + 1;
  }
  void give(std::uint32_t index) {
    CHECK(there(index), "row {} has no memory", index);
    const std::uint32_t number = (index - 1) / block_rows;
    Block& block = blocks_[number];
    const auto at = static_cast<std::uint16_t>((index - 1) % block_rows);
    CHECK(block.taken > 0 && taken_ >= block.taken, "row {} is not taken", index);
    block.next_free[at] = static_cast<std::uint16_t>(block.free);
    block.free = at;
    --taken_;
    if (block.taken == rows_of(number)) set_free_row(number, true);
    if (--block.taken == 0 && may_go(number) && ++empty_ > spare_blocks_) release(number);
  }
  // True if the row's memory exists; check it before reading a row that may have been freed.
  bool there(std::uint32_t index) const {
    CHECK(index != none && (index - 1) / block_rows < blocks_.size(), "row {}", index);
    return blocks_[(index - 1) / block_rows].rows != nullptr;
  }
  Row& operator[](std::uint32_t index) {
    return blocks_[(index - 1) / block_rows].rows[(index - 1) % block_rows];
  }
  const Row& operator[](std::uint32_t index) const {
    return blocks_[(index - 1) / block_rows].rows[(index - 1) % block_rows];
  }
  std::size_t taken() const { return taken_; }
  std::size_t bytes() const { return bytes_; }
  std::size_t free() const { return rows_max_ - std::min<std::size_t>(rows_max_, used()); }
  bool full() const { return used() >= rows_max_; }
  static constexpr std::size_t block_bytes() { return bytes_of(block_rows); }

 private:
  struct Block {
    std::unique_ptr<Row[]> rows;  // null: freed
    std::unique_ptr<std::uint16_t[]> next_free;
    std::uint32_t free = 0;  // the first free row; valid while not all are taken
    std::uint32_t taken = 0;
  };
  static_assert(first_rows <= rows_a_block);
  static constexpr std::uint32_t rows_of(std::uint32_t number) {
    return number == 0 ? first_rows : rows_a_block;
  }
  static constexpr bool may_go(std::uint32_t number) {
    return number > 0 || first_rows == rows_a_block;
  }
  static constexpr std::size_t bytes_of(std::uint32_t rows) {
    return rows * (sizeof(Row) + sizeof(std::uint16_t)) + sizeof(Block);
  }
  static constexpr std::uint32_t no_block = UINT32_MAX;
  std::size_t used() const { return taken_ + reserved_; }
  static constexpr bool has_generations = requires(Row row) { row.generation; };

  std::uint32_t block_with_free_row() {
    if (full()) return no_block;
    for (; lowest_ < has_free_row_.size(); ++lowest_) {
      if (const std::uint64_t word = has_free_row_[lowest_]; word != 0)
        return lowest_ * 64 + static_cast<std::uint32_t>(std::countr_zero(word));
    }
    return make_block();
  }
  // Called when all rows of the existing blocks are taken.
  std::uint32_t make_block() {
    auto number = static_cast<std::uint32_t>(blocks_.size());
    if (gone_.empty()) {
      blocks_.emplace_back();
      if (number % 64 == 0) has_free_row_.push_back(0);
    } else {
      number = gone_.back();
      gone_.pop_back();
    }
    const std::uint32_t rows = rows_of(number);
    Block& block = blocks_[number];
    CHECK(block.rows == nullptr, "block {} has memory", number);
    block = {.rows = std::make_unique<Row[]>(rows),
             .next_free = std::make_unique_for_overwrite<std::uint16_t[]>(rows)};
    for (std::uint32_t at = 0; at < rows; ++at)
      block.next_free[at] = static_cast<std::uint16_t>(at + 1);
    if constexpr (has_generations) {
      for (Row& row : std::span(block.rows.get(), rows)) row.generation = generation_;
    }
    bytes_ += bytes_of(rows);
    if (may_go(number)) ++empty_;
    set_free_row(number, true);
    return number;
  }
  void release(std::uint32_t number) {
    CHECK(blocks_[number].taken == 0, "block {} has {} rows", number, blocks_[number].taken);
    CHECK(empty_ > 0 && bytes_ >= bytes_of(rows_of(number)));
    if constexpr (has_generations) {
      for (const Row& row : std::span(blocks_[number].rows.get(), rows_of(number))) {
        if (static_cast<std::int32_t>(row.generation - generation_) >= 0)
          generation_ = row.generation + 1;
      }
    }
    blocks_[number] = {};
    gone_.push_back(number);
    bytes_ -= bytes_of(rows_of(number));
    --empty_;
    set_free_row(number, false);
  }
  void set_free_row(std::uint32_t number, bool free) {
    const std::uint64_t bit = std::uint64_t{1} << number % 64;
    if (free) {
      has_free_row_[number / 64] |= bit;
      lowest_ = std::min(lowest_, number / 64);
    } else {
      has_free_row_[number / 64] &= ~bit;
    }
  }

  std::uint32_t rows_max_;
  std::size_t spare_blocks_;
  std::vector<Block> blocks_;
  std::vector<std::uint32_t> gone_;          // freed members of blocks_
  std::vector<std::uint64_t> has_free_row_;  // a bit for each block with a free row
  std::uint32_t lowest_ = 0;                 // no earlier word of has_free_row_ has a bit
  std::size_t taken_ = 0;
  std::size_t reserved_ = 0;
  std::size_t bytes_ = 0;  // memory of the blocks
  std::size_t empty_ = 0;  // empty blocks that may be freed
  std::uint32_t generation_ = 0;
};

}  // namespace pawl

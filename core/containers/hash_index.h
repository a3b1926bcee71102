// SPDX-License-Identifier: Apache-2.0
// A hash table of 32-bit numbers: the owner knows the keys and their hashes.
//
// Open addressing. A large table is 64 parts that grow one by one: at a million entries a part
// moves 16,000 of them, not a million, so no turn stalls. An entry costs 8 to 16 bytes.
//
// Owner:  one structure of one shard (core/queue/groups.h, core/queue/dedup.h).
// Source: backward-shift deletion, Knuth, TAOCP 3, 6.4 algorithm R.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/check.h"

namespace pawl {

class HashIndex {
 public:
  static constexpr std::uint32_t none = UINT32_MAX;

  // Memory besides its own size.
  std::size_t bytes() const {
    return parts_.capacity() * sizeof(Part) + cells_ * sizeof(std::uint32_t);
  }

  // The number with that hash for which is(number) holds, or none.
  template <typename Is>
  std::uint32_t find(std::uint64_t hash, Is&& is) const {
    const Part& part = parts_[part_of(hash)];
    if (part.count == 0) return none;
    const std::size_t mask = part.cells.size() - 1;
    for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
      const std::uint32_t number = part.cells[i];
      if (number == none || is(number)) return number;
    }
  }

  // Adds a number that is not present. hash_of(number) returns the hash of any present number.
  template <typename HashOf>
  void put(std::uint64_t hash, std::uint32_t number, HashOf&& hash_of) {
    CHECK(number != none);
    if (parts_.size() == 1 && parts_[0].count == small_max) split(hash_of);
    Part& part = parts_[part_of(hash)];
    if (2 * (part.count + 1) > part.cells.size()) grow(part, hash_of);
    CHECK(2 * (part.count + 1) <= part.cells.size(), "{} in {} cells", part.count,
          part.cells.size());
    store(part, hash, number);
    ++part.count;
  }

  template <typename HashOf>
  void erase(std::uint64_t hash, std::uint32_t number, HashOf&& hash_of) {
    Part& part = parts_[part_of(hash)];
    CHECK(part.count > 0, "number {} in an empty part", number);
    const std::size_t mask = part.cells.size() - 1;
    std::size_t hole = hash & mask;
    for (; part.cells[hole] != number; hole = (hole + 1) & mask)
      CHECK(part.cells[hole] != none, "number {} is not present", number);
    for (std::size_t i = (hole + 1) & mask; part.cells[i] != none; i = (i + 1) & mask) {
      const std::size_t home = hash_of(part.cells[i]) & mask;
      if (((i - home) & mask) < ((i - hole) & mask)) continue;  // it is not past its home
      part.cells[hole] = part.cells[i];
      hole = i;
    }
    part.cells[hole] = none;
    --part.count;
    if (part.count == 0 && part.cells.size() > cells_kept) {
      CHECK(cells_ >= part.cells.size());
      cells_ -= part.cells.size();
      std::vector<std::uint32_t>().swap(part.cells);
    }
  }

 private:
  static constexpr unsigned part_bits = 6;
  static constexpr std::size_t small_max = 4096;  // in one part
  static constexpr std::size_t cells_min = 8;
  static constexpr std::size_t cells_kept = 64;  // of an empty part
  struct Part {
    std::vector<std::uint32_t> cells;  // its size is a power of two
    std::size_t count = 0;
  };

  std::size_t part_of(std::uint64_t hash) const {
    return parts_.size() == 1 ? 0 : static_cast<std::size_t>(hash >> (64 - part_bits));
  }

  template <typename HashOf>
  void split(HashOf&& hash_of) {
    const Part whole = std::move(parts_[0]);
    parts_ = std::vector<Part>(std::size_t{1} << part_bits);
    cells_ = 0;
    for (const std::uint32_t number : whole.cells) {
      if (number != none) put(hash_of(number), number, hash_of);
    }
  }

  static void store(Part& part, std::uint64_t hash, std::uint32_t number) {
    const std::size_t mask = part.cells.size() - 1;
    std::size_t i = hash & mask;
    while (part.cells[i] != none) i = (i + 1) & mask;
    part.cells[i] = number;
  }

  template <typename HashOf>
  void grow(Part& part, HashOf&& hash_of) {
    std::vector<std::uint32_t> before(part.cells.empty() ? cells_min : part.cells.size() * 2, none);
    before.swap(part.cells);
    cells_ += part.cells.size() - before.size();
    for (const std::uint32_t number : before) {
      if (number != none) store(part, hash_of(number), number);
    }
  }

  std::vector<Part> parts_ = std::vector<Part>(1);
  std::size_t cells_ = 0;  // of all parts
};

}  // namespace pawl

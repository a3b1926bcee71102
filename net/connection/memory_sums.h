// SPDX-License-Identifier: Apache-2.0
// Sums of the bytes that connections hold. A count measures only the connections touched since the
// last one.
//
// Rows have the indices of the table of connections. A free row measures as zero.
//
// Owner: the shard's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/check.h"

namespace pawl {

class MemorySums {
 public:
  struct Bytes {  // for one row, or the sum of all; those of a closing connection are `closing`
    std::size_t verified = 0, unverified = 0, closing = 0;
  };

  // The row's bytes may have changed since it was counted.
  void touch(std::uint32_t index) {
    if (index >= rows_.size()) rows_.resize(index + std::size_t{1});
    if (!std::exchange(rows_[index].touched, true)) touched_.push_back(index);
  }
  const std::vector<std::uint32_t>& touched() const { return touched_; }
  // measure(index) returns the Bytes of a row.
  template <typename Measure>
  void count(Measure&& measure) {
    for (const std::uint32_t index : touched_) {
      Row& row = rows_[index];
      CHECK(row.touched, "row {} is counted twice", index);
      CHECK(sums_.verified >= row.bytes.verified && sums_.unverified >= row.bytes.unverified &&
            sums_.closing >= row.bytes.closing);
      const Bytes now = measure(index);
      sums_.verified += now.verified - row.bytes.verified;
      sums_.unverified += now.unverified - row.bytes.unverified;
      sums_.closing += now.closing - row.bytes.closing;
      row = {.bytes = now, .touched = false};
    }
    touched_.clear();
  }
  const Bytes& sums() const { return sums_; }
  // Memory of this table itself.
  std::size_t bytes() const {
    return rows_.capacity() * sizeof(Row) + touched_.capacity() * sizeof(std::uint32_t);
  }

 private:
  struct Row {
    Bytes bytes;
    bool touched = false;
  };

  std::vector<Row> rows_;
  std::vector<std::uint32_t> touched_;
  Bytes sums_;
};

}  // namespace pawl

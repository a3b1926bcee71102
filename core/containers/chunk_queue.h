// SPDX-License-Identifier: Apache-2.0
// A first-in first-out queue that grows without copying and, in a steady state, without allocating.
//
// Memory is allocated in chunks. Two emptied chunks are kept at the end for reuse.
//
// Owner: one thread.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <utility>

#include "core/base/check.h"
#include "core/containers/ring_queue.h"

namespace pawl {

template <typename T, std::size_t items_a_chunk = 128>
class ChunkQueue {
 public:
  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  // Memory besides its own size.
  std::size_t bytes() const {
    return chunks_.size() * sizeof(Chunk) + chunks_.capacity() * sizeof(std::unique_ptr<Chunk>);
  }
  T& front() { return (*this)[0]; }
  const T& front() const { return (*this)[0]; }
  T& operator[](std::size_t i) {
    CHECK(i < count_);
    return (*chunks_[(head_ + i) / items_a_chunk])[(head_ + i) % items_a_chunk];
  }
  const T& operator[](std::size_t i) const {
    CHECK(i < count_);
    return (*chunks_[(head_ + i) / items_a_chunk])[(head_ + i) % items_a_chunk];
  }

  void push_back(T item) {
    CHECK(head_ < items_a_chunk && head_ + count_ <= chunks_.size() * items_a_chunk);
    if (head_ + count_ == chunks_.size() * items_a_chunk) {
      chunks_.push_back(std::make_unique<Chunk>());
    }
    ++count_;
    (*this)[count_ - 1] = std::move(item);
  }
  void pop_front() {
    CHECK(count_ > 0);
    front() = T();
    --count_;
    if (++head_ < items_a_chunk) return;
    head_ = 0;
    std::unique_ptr<Chunk> emptied = std::move(chunks_.front());
    chunks_.pop_front();
    if (chunks_.size() * items_a_chunk < count_ + spares_max * items_a_chunk)
      chunks_.push_back(std::move(emptied));
    CHECK(count_ <= chunks_.size() * items_a_chunk, "{} items in {} chunks", count_,
          chunks_.size());
  }

 private:
  using Chunk = std::array<T, items_a_chunk>;
  static constexpr std::size_t spares_max =
      2;  // one is lost when two are emptied before one is filled

  RingQueue<std::unique_ptr<Chunk>> chunks_;
  std::size_t head_ = 0;  // in the first chunk
  std::size_t count_ = 0;
};

}  // namespace pawl

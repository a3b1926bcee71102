// SPDX-License-Identifier: Apache-2.0
// A ring from one thread to one other: fixed, lock-free, published in batches.
//
//   producer: push ... push, publish          consumer: peek ... , release
//        tail_local_ ----publish()----> tail_ ====> consumer sees up to tail_
//        head_ <====================== release() ---- head_local_
//
// Each side keeps its own index and a copy of the other's on its own cache lines. It reads the
// shared index only when the copy indicates full (empty). A push costs no shared write until
// publish().
//
// Limits: `capacity` entries, a power of two.
// Owner:  one producing and one consuming thread; they may be the same.
// Source: rigtorp/SPSCQueue (cached indices), Lamport 1983.
// Tests:  tests/orders/ checks each order over all interleavings, and that none can be weaker.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/base/check.h"

namespace pawl {

inline constexpr std::size_t cache_line_bytes = 64;

// Memory shared by threads. The tests have one whose loads may return every value that C++ allows.
struct StdMemory {
  template <typename T>
  using Atomic = std::atomic<T>;
  template <typename T>
  using Plain = T;  // no atomic: other accesses must be ordered before and after a write
};

template <typename T, std::size_t capacity, typename Memory = StdMemory>
class SpscRing {
  static_assert((capacity & (capacity - 1)) == 0 && capacity >= 2);
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  // --- producer ---
  bool push(const T& item) {
    CHECK(tail_local_ - head_seen_ <= capacity, "{} to {}", head_seen_, tail_local_);
    if (tail_local_ - head_seen_ == capacity) {
      // Pairs with the release in drain(): the consumer has read the entry.
      head_seen_ = head_.load(std::memory_order_acquire);
      if (tail_local_ - head_seen_ == capacity) return false;
    }
    items_[tail_local_ & (capacity - 1)] = item;
    ++tail_local_;
    return true;
  }
  // Relaxed: the producer reads its own store.
  bool unpublished() const { return tail_local_ != tail_.load(std::memory_order_relaxed); }
  // Pairs with the acquire in drain(): the entries are written before the consumer reads them.
  void publish() { tail_.store(tail_local_, std::memory_order_release); }
  std::size_t free() {
    // As in push(), which may use these entries without another look.
    head_seen_ = head_.load(std::memory_order_acquire);
    CHECK(tail_local_ - head_seen_ <= capacity, "{} to {}", head_seen_, tail_local_);
    return capacity - (tail_local_ - head_seen_);
  }

  // --- consumer ---
  // Takes up to `max` items and frees their entries.
  template <typename Take>
  std::size_t drain(std::size_t max, Take&& take) {
    if (tail_seen_ == head_local_) {
      // Pairs with the release in publish().
      tail_seen_ = tail_.load(std::memory_order_acquire);
      if (tail_seen_ == head_local_) return 0;
    }
    CHECK(tail_seen_ - head_local_ <= capacity, "{} to {}", head_local_, tail_seen_);
    std::size_t taken = 0;
    for (; taken < max && head_local_ != tail_seen_; ++taken, ++head_local_) {
      const T item = items_[head_local_ & (capacity - 1)];
      take(item);
    }
    // Pairs with the acquires in push() and free(): the entries are read before they are reused.
    head_.store(head_local_, std::memory_order_release);
    return taken;
  }
  // The consumer asks after it has announced its sleep and before it sleeps (net/engine/mesh.h).
  // Relaxed: that announcement orders it, and drain() orders the entries.
  bool empty() const { return tail_.load(std::memory_order_relaxed) == head_local_; }

 private:
  alignas(cache_line_bytes) typename Memory::template Atomic<std::size_t> tail_{0};
  alignas(cache_line_bytes) std::size_t tail_local_ = 0;  // producer's
  std::size_t head_seen_ = 0;
  alignas(cache_line_bytes) typename Memory::template Atomic<std::size_t> head_{0};
  alignas(cache_line_bytes) std::size_t head_local_ = 0;  // consumer's
  std::size_t tail_seen_ = 0;
  alignas(cache_line_bytes) std::array<typename Memory::template Plain<T>, capacity> items_;
};

}  // namespace pawl

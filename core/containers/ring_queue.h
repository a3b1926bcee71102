// SPDX-License-Identifier: Apache-2.0
// A first-in first-out queue that allocates only to grow, and frees memory only on request.
//
// Owner: one thread.
#pragma once

#include <bit>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/base/check.h"

namespace pawl {

template <typename T>
class RingQueue {
 public:
  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  std::size_t capacity() const { return items_.size(); }
  T& front() {
    CHECK(count_ > 0);
    return items_[head_];
  }
  const T& front() const {
    CHECK(count_ > 0);
    return items_[head_];
  }
  T& back() { return (*this)[count_ - 1]; }
  const T& back() const { return (*this)[count_ - 1]; }
  T& operator[](std::size_t i) { return items_[(head_ + i) & (items_.size() - 1)]; }
  const T& operator[](std::size_t i) const { return items_[(head_ + i) & (items_.size() - 1)]; }

  void push_back(T item) {
    if (count_ == items_.size()) grow();
    items_[(head_ + count_++) & (items_.size() - 1)] = std::move(item);
  }
  void push_front(T item) {
    if (count_ == items_.size()) grow();
    head_ = (head_ - 1) & (items_.size() - 1);
    items_[head_] = std::move(item);
    ++count_;
  }
  // Inserts before the item at `at`; the items behind it move.
  void insert(std::size_t at, T item) {
    CHECK(at <= count_, "before item {} of {}", at, count_);
    push_back(std::move(item));
    for (std::size_t i = count_ - 1; i > at; --i) std::swap((*this)[i], (*this)[i - 1]);
  }
  void pop_front() {
    CHECK(count_ > 0);
    items_[head_] = T();
    head_ = (head_ + 1) & (items_.size() - 1);
    --count_;
  }
  void pop_back() {
    back() = T();
    --count_;
  }
  void clear() {
    while (!empty()) pop_front();
  }
  // Frees memory if an eighth of it is enough.
  void fit() {
    if (items_.size() > fit_min && count_ <= items_.size() / 8) resize(items_.size() / 4);
  }

 private:
  static constexpr std::size_t items_min = 4;
  static constexpr std::size_t fit_min = 64;

  void grow() { resize(items_.empty() ? items_min : items_.size() * 2); }
  void resize(std::size_t items) {
    CHECK(items >= count_ && std::has_single_bit(items), "{} items in {}", count_, items);
    std::vector<T> others(items);
    for (std::size_t i = 0; i < count_; ++i) others[i] = std::move((*this)[i]);
    items_.swap(others);
    head_ = 0;
  }

  std::vector<T> items_;  // its size is a power of two
  std::size_t head_ = 0;
  std::size_t count_ = 0;
};

}  // namespace pawl

// A first-in first-out queue that allocates only to grow.
//
// Owner: one thread.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace pawl {

template <typename T>
class RingQueue {
 public:
  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  T& front() { return items_[head_]; }
  const T& front() const { return items_[head_]; }
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
  void pop_front() {
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

 private:
  static constexpr std::size_t items_min = 4;

  void grow() {
    std::vector<T> larger(items_.empty() ? items_min : items_.size() * 2);
    for (std::size_t i = 0; i < count_; ++i) larger[i] = std::move((*this)[i]);
    items_.swap(larger);
    head_ = 0;
  }

  std::vector<T> items_;  // a power of two of them
  std::size_t head_ = 0;
  std::size_t count_ = 0;
};

}  // namespace pawl

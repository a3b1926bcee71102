// SPDX-License-Identifier: Apache-2.0
// Received bytes of a connection that are not taken yet: appended at the end, taken from the front.
//
// Taken bytes stay in front until they are the larger part, so each byte moves at most once: a peer
// with many held bytes is served one frame at a time.
//
// Limits: the owner's; the buffer is at most twice as long as the held bytes.
// Owner:  one connection.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/check.h"
#include "core/base/free_memory.h"

namespace pawl {

class HeldBytes {
 public:
  bool empty() const { return size() == 0; }
  std::size_t size() const { return bytes_.size() - taken_; }
  std::size_t capacity() const { return bytes_.capacity(); }
  std::string_view view() const { return std::string_view(bytes_).substr(taken_); }

  void append(std::string_view more) { bytes_.append(more); }
  // Takes `count` bytes, at most size().
  void take(std::size_t count) {
    taken_ += std::min(count, size());
    CHECK(taken_ <= bytes_.size(), "took {} of {} bytes", taken_, bytes_.size());
    if (taken_ > bytes_.size() / 2) bytes_.erase(0, std::exchange(taken_, 0));
  }
  void clear() {
    bytes_.clear();
    taken_ = 0;
  }
  // Frees the buffer if it is empty.
  void free_spare() {
    if (empty()) free_memory(bytes_);
  }

 private:
  std::string bytes_;
  std::size_t taken_ = 0;
};

}  // namespace pawl

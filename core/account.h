// What one structure adds to an account which others add to as well: bytes, or how many it has. It goes with it.
//
// Owner: the structure; the account outlives it.
#pragma once

#include <cstdint>

namespace pawl {

class Share {
 public:
  explicit Share(std::uint64_t& account) : account_(&account) {}
  ~Share() { set(0); }
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;

  void set(std::uint64_t count) {
    *account_ += count - count_;
    count_ = count;
  }
  void add(std::uint64_t count) { set(count_ + count); }
  void drop(std::uint64_t count) { set(count_ - count); }

 private:
  std::uint64_t* account_;
  std::uint64_t count_ = 0;
};

}  // namespace pawl

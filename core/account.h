// Bytes that one structure adds to an account which others add to as well. They go with it.
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

  void set(std::uint64_t bytes) {
    *account_ += bytes - bytes_;
    bytes_ = bytes;
  }
  void add(std::uint64_t bytes) { set(bytes_ + bytes); }
  void drop(std::uint64_t bytes) { set(bytes_ - bytes); }

 private:
  std::uint64_t* account_;
  std::uint64_t bytes_ = 0;
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Tells the process that made an object from its children: after fork() a child has copies of the
// object's memory and descriptors, but not its threads, and its locks may be taken for ever.
//
// Errors: none.
// Owner:  any thread.
// Source: fork(2), pthread_atfork(3).
#pragma once

#include <cstdint>

namespace pawl::client {

// Another number in each child of fork(). The cost of a call is that of a load.
std::uint32_t process_generation();

// Part of an object: whether it is used in the process that made it.
class HomeProcess {
 public:
  bool is_here() const { return generation_ == process_generation(); }

 private:
  const std::uint32_t generation_ = process_generation();
};

}  // namespace pawl::client

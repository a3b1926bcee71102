// SPDX-License-Identifier: Apache-2.0
// Failed authentications of one shard: a count for each reason.
//
// Owner:  the Connections of the shard.
#pragma once

#include <array>
#include <cstdint>

#include "proto/auth/sigv4.h"

namespace pawl {

class AuthFailures {
 public:
  using Counts = std::array<std::uint64_t, auth_faults>;

  void add(AuthFault fault);
  const Counts& counts() const { return counts_; }

 private:
  Counts counts_{};
};

}  // namespace pawl

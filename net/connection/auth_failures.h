// SPDX-License-Identifier: Apache-2.0
// Failed authentications of one shard: a count for each reason, and a rate-limited log line.
//
// Limits: one line in log_interval_min; it has the number of failures not logged since the last.
// Owner:  the Connections of the shard.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/time.h"
#include "net/connection/connection_limits.h"
#include "proto/auth/sigv4.h"

namespace pawl {

class AuthFailures {
 public:
  static constexpr Duration log_interval_min = seconds(1);
  using Counts = std::array<std::uint64_t, auth_faults>;

  // Counts the failure. Returns the line to log; empty when the last line is too recent.
  std::string add(AuthFault fault, std::string_view port, const PeerAddress& peer, Instant now);
  const Counts& counts() const { return counts_; }

 private:
  Counts counts_{};
  Instant logged_at_;
  std::uint64_t not_logged_ = 0;
  bool logged_ = false;
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/connection/auth_failures.h"

#include <fmt/core.h>

#include <utility>

#include "core/base/check.h"

namespace pawl {

std::string AuthFailures::add(AuthFault fault, std::string_view port, const PeerAddress& peer,
                              Instant now) {
  const auto reason = static_cast<std::size_t>(fault);
  CHECK(reason < counts_.size(), "AuthFault {}", reason);
  ++counts_[reason];
  if (logged_ && now - logged_at_ < log_interval_min) {
    ++not_logged_;
    return {};
  }
  logged_ = true;
  logged_at_ = now;
  std::string line = fmt::format("pawl: {}: authentication failed ({}) from {}", port,
                                 name_of(fault), text_of(peer));
  if (const std::uint64_t more = std::exchange(not_logged_, 0); more > 0)
    line += fmt::format("; {} more since the last such line", more);
  return line + "\n";
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/connection/auth_failures.h"

#include "core/base/check.h"

namespace pawl {

void AuthFailures::add(AuthFault fault) {
  const auto reason = static_cast<std::size_t>(fault);
  CHECK(reason < counts_.size(), "AuthFault {}", reason);
  ++counts_[reason];
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// The checks of a new replay, for pawl's API and for the binary protocol.
//
// Errors: the first fault. A caller turns it into its own text or status.
// Owner:  free functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/queue/directory.h"

namespace pawl {

enum class ReplayFault : std::uint8_t {
  none,
  rate,            // above replay_rate_max
  range,           // a time before 1970, or no time between the two
  filter_size,     // above replay_filter_bytes_max
  filter,          // no filter policy
  no_destination,  // the account has no such queue
  other_kind,      // one queue is FIFO, the other is not
};

// A replay as a client asks for it.
struct ReplayOrder {
  std::string_view destination;   // the name of a queue; empty: the source itself
  std::string_view filter;        // empty: all messages
  std::int64_t from = 0, to = 0;  // ms since 1970, wall clock; to 0: now
  std::uint64_t rate = 0;
};

// `why` has the reason for the fault `filter`.
ReplayFault replay_filter_fault(std::string_view filter, std::string& why);
ReplayFault replay_fault(const QueueConfig& source, const Directory& directory,
                         const ReplayOrder& order, std::string& why);

// The destination for ReplayParams.
std::string replay_destination(const QueueConfig& source, std::string_view destination);

}  // namespace pawl

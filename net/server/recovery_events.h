// SPDX-License-Identifier: Apache-2.0
// The events about the recovered log of a shard: damage, skipped parts, a torn write.
//
// Owner:  values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "net/events/event.h"
#include "wal/recovery/recovery.h"

namespace pawl {

// `data`: the data directory.
std::vector<Event> recovery_events(const RecoveryReport& report, std::uint32_t shard,
                                   const std::string& data);

}  // namespace pawl

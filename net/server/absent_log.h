// SPDX-License-Identifier: Apache-2.0
// The error text for a log that is lost, foreign or from another time: its queues, and the ways to
// continue.
//
// Owner: the server, between recovery and the first turn.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/shard/shard.h"
#include "wal/data_identity.h"
#include "wal/recovery/recovery.h"

namespace pawl {

// `shards`: [i] is shard i; null if its log could not be read.
std::string describe_absent_log(const std::string& data, const DataIdentity& identity,
                                std::uint32_t shard, const RecoveryReport& report,
                                std::span<const Shard* const> shards);

// "s01"
std::string log_name(std::uint32_t shard);
// "q1, q2 and 3 more"; "" without names.
std::string list_of(std::span<const std::string> names);

}  // namespace pawl

// What a start says of a log that is lost, another's or from another time: which queues are in it, and the ways on.
//
// Owner: the server, between the reading of the logs and their first turn.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/shard.h"
#include "wal/data_identity.h"
#include "wal/log.h"

namespace pawl {

// `shards`: by number, null where the log could not be read.
std::string describe_absent_log(const std::string& data, const DataIdentity& identity,
                                std::uint32_t shard, const RecoveryReport& report,
                                std::span<const Shard* const> shards);

// "s01"
std::string log_name(std::uint32_t shard);
// "q1, q2 and 3 more"; "" of none.
std::string list_of(std::span<const std::string> names);

}  // namespace pawl

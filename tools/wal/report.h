// What a repair says: places, and what is lost there.
//
// Owner: values.
#pragma once

#include <map>
#include <set>
#include <string>

#include "core/ids.h"
#include "tools/wal/salvage.h"

namespace pawl {

using MessageList = std::map<QueueId, std::set<Seq>>;

// "1-3, 7"; all of them, for nothing is dropped that was not shown.
std::string numbers(const std::set<Seq>& seqs);
// "1 send (queue 1: 7), 300 bytes that cannot be told"; empty: nothing.
std::string describe_guess(const Guess& guess);

}  // namespace pawl

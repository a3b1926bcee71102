// SPDX-License-Identifier: Apache-2.0
// Texts for the report of a repair: message numbers and losses.
//
// Owner: values.
#pragma once

#include <map>
#include <set>
#include <string>

#include "core/base/ids.h"
#include "wal/repair/salvage.h"

namespace pawl {

using MessageList = std::map<QueueId, std::set<Seq>>;

// "1-3, 7": all numbers without a limit, because a repair shows each message that it drops.
std::string numbers(const std::set<Seq>& seqs);
// "1 send (queue 1: 7), 300 unrecognized bytes"; empty: no loss.
std::string describe_guess(const Guess& guess);

}  // namespace pawl

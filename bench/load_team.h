// SPDX-License-Identifier: Apache-2.0
// The threads of a load: each drives a Run with its share of connections, rate and messages.
//
// Limits: as many threads as connections at most.
// Errors: LoadResult::fault: when one connection breaks, all threads end.
// Owner:  the caller; no thread remains after run_threads().
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>

#include "bench/load_result.h"
#include "bench/load_run.h"
#include "bench/stop_signals.h"

namespace pawl::load {

// Blocks until the load ends. Without a value no load ran: an error text. A signal before the end
// of the last round interrupts it; LoadResult::interrupted tells.
std::expected<LoadResult, std::string> run_threads(const LoadOptions& options, const Target& target,
                                                   const StopSignals& stop,
                                                   const SecondPassed& second_passed);

// Deletes the queue of the load, over a connection of its own. Returns an error text; empty:
// success.
std::string delete_queue(const LoadOptions& options, const Target& target);

}  // namespace pawl::load

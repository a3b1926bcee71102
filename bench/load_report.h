// SPDX-License-Identifier: Apache-2.0
// The figures of a load as text and as JSON.
//
// Units:  messages per second, microseconds.
// Errors: none.
#pragma once

#include <cstdint>
#include <string>

#include "bench/load_machine.h"
#include "bench/load_options.h"
#include "bench/load_result.h"

namespace pawl::load {

// "  12345 msg/s   p50 ...   errors 0", without the line end.
std::string figures_line(double per_second, const Histogram& latency, std::uint64_t errors);
// The summary of a run: total, rounds, refusals, deliveries, notes. Lines with their ends.
std::string summary_text(const LoadResult& result);
// A step of a ramp, and its knee.
std::string step_line(const RampStep& step);
std::string knee_text(const LoadResult& result, double p99_limit_us);

// One line with its end.
std::string result_json(const LoadOptions& options, const LoadResult& result,
                        const MachineFacts& machine);

// The name of a workload as on the command line.
const char* name_of(LoadOptions::Workload workload);
// "binary", "http", or the scheme of another broker's URL.
std::string protocol_of(const LoadOptions& options);

}  // namespace pawl::load

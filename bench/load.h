// SPDX-License-Identifier: Apache-2.0
// The load generator: many connections to one endpoint, with response latencies.
//
//   send:     producers send into a queue
//   receive:  consumers receive and delete messages; ends early when the queue is empty
//   e2e:      both; latency from a message's due time until its receipt by a consumer
//
// Closed loop (rate 0): every connection keeps `depth` requests in flight; e2e also pauses
// producers while too many messages are undelivered. Open loop: requests fall due at `rate`,
// independent of earlier responses. Latency is counted from the due time, so that a stall of the
// server counts for every delayed request.
//
// Units:  rate in messages per second; latencies in microseconds.
// SIGINT or SIGTERM ends the measurement and waits for responses; a second one ends the process.
//
// Limits: see LoadOptions; run_load returns 2 for values beyond them.
// Errors: 1 when the endpoint is unreachable, a connection broke or no request succeeded; 4 when
//         LoadOptions::verify found wrong deliveries. Refused messages are only counted. When a
//         connection breaks, the figures of the time before are printed. 130 when a signal ended
//         the load, unless one of these happened: the figures of the time before are printed, and
//         marked; none if that was before the end of the warm-up.
// Owner:  nothing remains after run_load returns.
// Source: Tene, "How not to measure latency" (coordinated omission).
#pragma once

#include <cstdio>

#include "bench/load_codec.h"
#include "bench/load_options.h"

namespace pawl {

// Blocks until the load ends. Writes readable progress and results to `err`, the JSON to `out`.
int run_load(const LoadOptions& options, std::FILE* out, std::FILE* err);
// The same for a target of any protocol; options.url and options.binary only name it.
int run_load_at(const LoadOptions& options, const load::Target& target, std::FILE* out,
                std::FILE* err);

}  // namespace pawl

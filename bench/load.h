// SPDX-License-Identifier: Apache-2.0
// The load generator: many connections to one endpoint from one thread, with response latencies.
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
// Limits: see LoadOptions; run_load returns 2 for values beyond them.
// Errors: 1 when the endpoint is unreachable or a connection broke; refused messages are only
//         counted.
// Owner:  nothing remains after run_load returns.
// Source: Tene, "How not to measure latency" (coordinated omission).
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace pawl {

struct LoadOptions {
  enum class Workload : std::uint8_t { send, receive, e2e };

  Workload workload = Workload::send;
  std::string url;                // http://host:port/account/queue of any SQS endpoint, or
  std::string binary;             // host:port of a pawl server, and
  std::string queue = "bench";    // its queue
  std::string key_id, secret;     // the access key, if the server requires one
  bool create = false;            // create the queue if it does not exist
  std::uint32_t connections = 1;  // 1..1024; e2e: this many producers and as many consumers
  std::uint32_t depth = 1;     // requests in flight on each; 1..1024. Over HTTP they are pipelined
  std::uint32_t batch = 1;     // messages a request; 1..10 over HTTP, 1..1024 binary
  std::uint32_t body = 1024;   // bytes a message; 1..1 MiB, e2e at least 16
  double rate = 0;             // 0: closed loop
  double seconds = 10;         // duration of sending or receiving
  std::uint64_t messages = 0;  // ends after this many sent (receive: received); 0: no limit
  bool spin = false;           // never sleep: uses a core, excludes wake-ups from the figures
  bool json = false;           // the last line of `out` is a JSON object
  std::string hgrm;            // output file for the distribution; empty: none
};

// Blocks until the run ends. Writes readable progress and results to `err`, the JSON to `out`.
int run_load(const LoadOptions& options, std::FILE* out, std::FILE* err);

}  // namespace pawl

// The load generator: many connections to one endpoint from one thread, and how long answers take.
//
//   send:     producers send into a queue
//   receive:  consumers receive what is there and delete it; ends early when the queue is empty
//   e2e:      both; from when a message was to be sent until a consumer has it
//
// Closed loop (rate 0): every connection keeps `depth` requests under way; e2e also holds producers
// back while too much is undelivered. Open loop: requests fall due at `rate`, whether or not
// earlier ones are answered, and latency is counted from when they fell due: a server that stalls
// is charged for all who waited.
//
// Units:  rate in messages per second; latencies in microseconds.
// Limits: LoadOptions says them; run_load refuses what is beyond with 2.
// Errors: 1 when the endpoint cannot be reached or a connection broke; refused messages are only
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
  std::string url;                // http://host:port/account/queue, of any SQS endpoint; or
  std::string binary;             // host:port of a pawl server, and
  std::string queue = "bench";    // its queue
  std::string key_id, secret;     // the access key, if it asks for one
  bool create = false;            // create the queue if it is not there
  std::uint32_t connections = 1;  // e2e: of producers, and as many of consumers; 1..1024
  std::uint32_t depth = 1;     // requests under way on each; 1..1024. Over HTTP they are pipelined
  std::uint32_t batch = 1;     // messages a request; 1..10 over HTTP, 1..1024 binary
  std::uint32_t body = 1024;   // bytes a message; 1..1 MiB, e2e at least 16
  double rate = 0;             // 0: closed loop
  double seconds = 10;         // of sending or receiving
  std::uint64_t messages = 0;  // ends when so many were sent (receive: received); 0: no limit
  bool spin = false;           // never sleep: takes a core, and the wake-up out of the figures
  bool json = false;           // the last line of `out` is a JSON object
  std::string hgrm;            // a file for the distribution; empty: none
};

// Runs to the end. Progress and result for people go to `err`, the JSON to `out`.
int run_load(const LoadOptions& options, std::FILE* out, std::FILE* err);

}  // namespace pawl

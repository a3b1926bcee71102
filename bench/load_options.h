// SPDX-License-Identifier: Apache-2.0
// The options of a run of the load generator.
//
// Units:  as each option says; run_load (bench/load.h) checks the limits.
// Owner:  the caller of run_load; they outlive the run.
#pragma once

#include <cstdint>
#include <string>

namespace pawl {

struct LoadOptions {
  enum class Workload : std::uint8_t { send, receive, e2e };

  Workload workload = Workload::send;
  std::string url;                   // http[s]://host:port[/account/queue] of any SQS endpoint, or
  std::string binary;                // host:port of a pawl server, and
  std::string queue = "bench";       // its queue; of `url` too if that names none
  std::string key_id, secret;        // the access key; over HTTP it signs each request
  std::string session_token;         // of a temporary key; over HTTP each signed request carries it
  std::string region = "us-east-1";  // of signatures
  bool tls = false;                  // on the binary port; an https URL implies it
  std::string ca_file;               // PEM; empty: the system's CAs; otherwise implies `tls`
  bool create = false;               // create the queue if it does not exist
  bool subscribe = false;            // e2e, binary: the server sends messages; no receives
  bool once = false;                 // send, e2e, binary: number the messages (SEND_ONCE)
  bool cleanup = false;      // with `create`: delete the queue at the end if the run created it
  std::uint32_t groups = 1;  // FIFO queues: message groups
  bool verify = false;       // e2e: count lost, duplicate and disordered messages; body at least 32
  std::uint32_t connections = 1;  // 1..1024; e2e: this many producers and as many consumers
  std::uint32_t depth = 1;     // requests in flight on each; 1..1024. Over HTTP they are pipelined
  std::uint32_t batch = 1;     // messages a request; 1..10 over HTTP, 1..1024 binary
  std::uint32_t body = 1024;   // bytes a message; 1..1 MiB, e2e at least 16
  double rate = 0;             // 0: closed loop
  double seconds = 10;         // duration of sending or receiving in each round
  double warm_up = 0;          // seconds before the first round, whose figures are discarded
  std::uint32_t rounds = 1;    // 1..100; they follow one another without a pause
  std::uint32_t threads = 1;   // of the generator; 1..connections, at most 64
  std::uint64_t messages = 0;  // ends after this many sent (receive: received); 0: no limit
  bool spin = false;           // never sleep: uses a core, excludes wake-ups from the figures
  bool json = false;           // the last line of `out` is a JSON object
  std::string hgrm;            // output file for the distribution (load_files.h); empty: none
  std::string html;            // output file for the report; empty: none
  std::string ramp;            // FROM:TO:STEPS, rates in messages per second; empty: no ramp
  double p99_limit_us = 10'000;  // the ramp holds a rate if p99 is not above
  std::string data;   // the server's data directory, if local: its file system is recorded
  std::string build;  // version of this program, recorded in results
};

}  // namespace pawl

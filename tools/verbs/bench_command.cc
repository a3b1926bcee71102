// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "bench/load.h"
#include "bench/load_compare.h"
#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/verbs/profile_option.h"

namespace pawl {
namespace {

struct BenchOptions {
  LoadOptions load;
  std::string profile;
  std::string region;  // empty: that of the environment or the profile
};

void add_endpoint(Verb workload, BenchOptions& asked) {
  LoadOptions& options = asked.load;
  const Option url = workload.option("--url", options.url,
                                     "Any SQS endpoint with --queue, as http://host:port, or a "
                                     "queue, as http://host:port/account/queue; or https");
  workload
      .option("--binary", options.binary,
              "Binary port of a pawl server, or path of its Unix socket; used if --url is not "
              "given (default: 127.0.0.1:9326)")
      .value_name("ADDR:PORT")
      .excludes(url);
  workload.option("--queue", options.queue, "Queue of the binary port or the endpoint")
      .value_name("NAME")
      .show_default();
  workload.flag("--create", options.create, "Create the queue if it does not exist");
  workload.flag("--cleanup", options.cleanup,
                "With --create: delete the queue at the end, unless it existed before");
  workload.flag("--tls", options.tls, "Use TLS on the binary port; https in --url does the same");
  workload.option("--tls-ca", options.ca_file, "CA certificate of the server (PEM); implies --tls")
      .check_existing_file()
      .value_name("FILE");
  workload
      .option("--region", asked.region,
              "Region of signatures over HTTP (default: AWS_REGION, that of the profile, else "
              "us-east-1). Requests are signed if there is a key: AWS_ACCESS_KEY_ID and "
              "AWS_SECRET_ACCESS_KEY with AWS_SESSION_TOKEN, or that of the profile")
      .value_name("NAME");
  add_profile(workload, asked.profile);
}

void add_shape(Verb workload, LoadOptions& options) {
  workload
      .option("--connections", options.connections,
              "Number of connections, 1 to 1024; e2e: of producers, and as many of consumers")
      .check(whole_number(1, 1024))
      .show_default();
  workload.option("--depth", options.depth, "Requests in flight on each connection, 1 to 1024")
      .check(whole_number(1, 1024))
      .show_default();
  workload.option("--batch", options.batch, "Messages per request, 1 to 1024; at most 10 over HTTP")
      .check(whole_number(1, 1024))
      .show_default();
  workload.option("--body", options.body, "Bytes per message, 1 to 1048576")
      .check(whole_number(1, 1 << 20))
      .show_default();
  workload
      .option("--rate", options.rate,
              "Messages per second, each timed from its due time; 0: as fast as responses arrive")
      .check(number(0, 1e9))
      .show_default();
  workload.option("--seconds", options.seconds, "Duration of each round in seconds, up to 86400")
      .check(number(0.001, 86'400))
      .show_default();
  workload
      .option("--warm-up", options.warm_up,
              "Seconds of load before the first round, left out of the figures")
      .check(number(0, 86'400))
      .show_default();
  workload
      .option("--rounds", options.rounds,
              "Number of rounds, 1 to 100; prints their medians and spread")
      .check(whole_number(1, 100))
      .show_default();
  workload
      .option("--threads", options.threads,
              "Threads of the generator, 1 to 64, at most one for each of --connections")
      .check(whole_number(1, 64))
      .show_default();
  workload
      .option("--messages", options.messages,
              "End after this many sent or received messages, at the latest after --seconds; 0: no "
              "limit")
      .check(whole_number(0, 1'000'000'000'000))
      .show_default();
  workload.flag("--spin", options.spin,
                "Never sleep: uses a whole core, and excludes wake-ups from the figures");
}

void add_fifo(Verb workload, LoadOptions& options) {
  workload
      .option("--groups", options.groups, "Message groups of a FIFO queue (--url), 1 to 1000000")
      .check(whole_number(1, 1'000'000))
      .show_default();
}

void add_once(Verb workload, LoadOptions& options) {
  workload.flag("--once", options.once,
                "Number the messages, so that a resent one would be accepted once (--binary)");
}

void add_verify(Verb workload, LoadOptions& options) {
  workload.flag("--verify", options.verify,
                "Count lost, duplicate and (FIFO) disordered messages; any is exit code 4");
}

void add_ramp(Verb workload, LoadOptions& options) {
  workload
      .option("--ramp", options.ramp,
              "Load at rising rates, --seconds each, until they are not held: for example "
              "1000:64000:7")
      .value_name("FROM:TO:STEPS");
  workload
      .option("--p99-limit", options.p99_limit_us,
              "Highest p99 in microseconds at which --ramp counts a rate as held")
      .check(number(1, 3.6e9))
      .show_default();
}

void add_output(Verb workload, LoadOptions& options) {
  workload.flag("--json", options.json, "Print the result as one JSON object on stdout");
  workload
      .option(
          "--hgrm", options.hgrm,
          "Write the latency distribution to this file, for HdrHistogram plotters; with --rounds "
          "also that of each round, to out.round-001.hgrm and so on beside out.hgrm")
      .value_name("FILE");
  workload
      .option("--html", options.html, "Write a report with plots to this file: one page, no script")
      .value_name("FILE");
  workload
      .option("--data", options.data,
              "Data directory of the server, if it is local: the result names its file system")
      .value_name("DIR");
}

void add_compare(Verb& bench) {
  const auto paths = std::make_shared<std::pair<std::string, std::string>>();
  Verb compare =
      bench.add_verb("compare", "Compares two results of --json: ratios with their 95 % intervals");
  compare.option("A", paths->first, "File with the first result").required();
  compare.option("B", paths->second, "File with the second result").required();
  compare.on_given(
      [paths] { return compare_results(paths->first, paths->second, stdout, stderr); });
}

int run_bench(BenchOptions& asked) {
  LoadOptions& options = asked.load;
  const auto access = access_of(asked.profile);
  if (!access) return exit_usage;
  if (options.url.empty() && options.binary.empty()) options.binary = "127.0.0.1:9326";
  options.key_id = access->key.id;
  options.secret = access->key.secret;
  options.session_token = access->key.session_token;
  if (options.ca_file.empty() && options.url.starts_with("https:"))
    options.ca_file = access->ca_file;
  options.region = asked.region.empty() ? access->region : asked.region;
  return run_load(options, stdout, stderr);
}

}  // namespace

void add_bench_command(CommandLine& line) {
  Verb verb = line.add_verb("bench", "Loads a server and prints response latencies");
  verb.require_verb();
  verb.footer(
      "SIGINT (Ctrl-C) or SIGTERM ends the measurement, waits for responses, up to 5 s for each "
      "step, and prints the figures of the time before; a second one ends the program at once. "
      "Exit codes: 0 ok, 1 failure, 2 usage, 4 wrong deliveries, 130 interrupted.");
  const auto add = [&](const char* name, const char* help, LoadOptions::Workload kind) {
    const auto asked = std::make_shared<BenchOptions>();
    LoadOptions* const options = &asked->load;
    options->workload = kind;
    Verb workload = verb.add_verb(name, help);
    add_endpoint(workload, *asked);
    add_shape(workload, *options);
    add_output(workload, *options);
    options->build = PAWL_VERSION;
    if (kind != LoadOptions::Workload::receive) {
      add_fifo(workload, *options);
      add_once(workload, *options);
      add_ramp(workload, *options);
    }
    if (kind == LoadOptions::Workload::e2e) {
      add_verify(workload, *options);
      workload.flag("--subscribe", options->subscribe,
                    "The server sends the messages (--binary), up to --depth times --batch "
                    "unacknowledged on each connection");
    }
    workload.on_given([asked] { return run_bench(*asked); });
  };
  add("send", "Sends messages to a queue", LoadOptions::Workload::send);
  add("receive", "Receives and deletes the messages of a queue", LoadOptions::Workload::receive);
  add("e2e", "Sends and receives; latency from a message's due time until its receipt",
      LoadOptions::Workload::e2e);
  add_compare(verb);
}

}  // namespace pawl

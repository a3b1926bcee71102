// SPDX-License-Identifier: Apache-2.0
#include "bench/load.h"

#include <fmt/core.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cmath>
#include <expected>

#include "bench/load_endpoint.h"
#include "bench/load_files.h"
#include "bench/load_machine.h"
#include "bench/load_ramp.h"
#include "bench/load_report.h"
#include "bench/load_team.h"
#include "bench/stop_signals.h"
#include "core/base/check.h"
#include "proto/binary/frames.h"

namespace pawl {
namespace {

using load::Interval;
using load::LoadResult;
using Workload = LoadOptions::Workload;

constexpr std::uint64_t http_overhead = 640;
constexpr std::uint32_t body_max = 1 << 20;
constexpr std::uint64_t frame_overhead = 64;
constexpr std::uint32_t threads_max = 64;  // each has a histogram of 264 KiB a round
constexpr std::uint32_t groups_max = 1'000'000;
constexpr int exit_interrupted = 130;  // a shell's code for a program that SIGINT ended

// An error text about the options; empty: none.
std::string fault_of(const LoadOptions& o, const load::Target& target) {
  const bool http = target.http;
  if (o.connections < 1 || o.connections > 1024) return "--connections must be 1 to 1024";
  if (o.depth < 1 || o.depth > 1024) return "--depth must be 1 to 1024";
  if (o.batch < 1 || o.batch > target.batch_max)
    return "--batch must be 1 to " + std::to_string(target.batch_max);
  if (o.body < 1 || o.body > body_max) return "--body must be 1 to 1048576";
  if (o.workload == Workload::e2e && o.body < load::stamp_bytes)
    return "--body must be at least 16 for e2e";
  if (o.subscribe && (o.workload != Workload::e2e || !target.subscribes))
    return "--subscribe is for e2e with --binary: SQS has no subscriptions";
  if (o.once && (o.workload == Workload::receive || http))
    return "--once is for send and e2e with --binary: SQS has no numbers for messages";
  if (o.verify && o.workload != Workload::e2e) return "--verify is for e2e";
  if (o.verify && o.body < 2 * load::stamp_bytes) return "--body must be at least 32 with --verify";
  const std::uint64_t bytes = std::uint64_t{o.batch} * (o.body + 4) + frame_overhead;
  if (bytes > (http ? body_max + http_overhead : frame_bytes_max))
    return "--batch times --body is too large for a request";
  if (!(o.rate >= 0) || std::isinf(o.rate)) return "--rate must be a number from 0";
  if (!(o.seconds > 0) || o.seconds > 86'400) return "--seconds must be above 0, at most a day";
  if (!(o.warm_up >= 0) || o.warm_up > 86'400) return "--warm-up must be 0 to 86400";
  if (o.rounds < 1 || o.rounds > 100) return "--rounds must be 1 to 100";
  if (o.threads < 1 || o.threads > std::min(o.connections, threads_max))
    return "--threads must be 1 to 64, and at most the --connections";
  if (o.groups < 1 || o.groups > groups_max) return "--groups must be 1 to 1000000";
  if (http && !std::ranges::all_of(o.session_token, [](char c) { return c > ' ' && c < 0x7f; }))
    return "AWS_SESSION_TOKEN contains spaces, line breaks or characters beyond ASCII; set it to "
           "the token alone";
  if (o.cleanup && !o.create) return "--cleanup deletes only queues of --create; give both";
  if (!http && o.queue.ends_with(".fifo"))
    return "--queue " + o.queue +
           ": FIFO queues are loaded over HTTP alone; give --url http://host:9324/account/" +
           o.queue;
  return {};
}

// Combinations of options that contradict each other.
std::string conflict_of(const LoadOptions& o) {
  if (o.messages % o.batch != 0) return "--messages must be a multiple of --batch";
  if (o.messages > 0 && o.messages < std::uint64_t{o.batch} * o.threads)
    return "--messages must be at least --batch times --threads";
  if (o.messages > 0 && (o.rounds > 1 || o.warm_up > 0))
    return "--messages ends a run by count, --rounds and --warm-up divide it by time; give one "
           "kind";
  if (o.ramp.empty()) return {};
  if (o.workload == Workload::receive) return "--ramp is for send and e2e";
  if (o.rate > 0 || o.messages > 0) return "--ramp sets the rates; leave out --rate and --messages";
  if (const auto ramp = load::parse_ramp(o.ramp); !ramp) return ramp.error();
  return {};
}

std::string wrong_use_of(const LoadOptions& options, const load::Target& target) {
  const std::string fault = fault_of(options, target);
  return fault.empty() ? conflict_of(options) : fault;
}

void print(std::FILE* to, const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), to);
  std::fflush(to);
}

int fail(int code, const std::string& reason, std::FILE* err) {
  print(err, "error: " + reason + "\n");
  return code;
}

// During its lifetime, sleeps end on time instead of 50 us late.
class SharpTimers {
 public:
  SharpTimers() : slack_(::prctl(PR_GET_TIMERSLACK)) { ::prctl(PR_SET_TIMERSLACK, 1); }
  ~SharpTimers() {
    if (slack_ > 0) ::prctl(PR_SET_TIMERSLACK, slack_);
  }
  SharpTimers(const SharpTimers&) = delete;
  SharpTimers& operator=(const SharpTimers&) = delete;

 private:
  int slack_;
};

std::expected<LoadResult, std::string> measure(const LoadOptions& options,
                                               const load::Target& target,
                                               const load::StopSignals& stop, std::FILE* err) {
  if (!options.ramp.empty())
    return load::run_ramp(
        options, target, stop, *load::parse_ramp(options.ramp),
        [err](const load::RampStep& s) { print(err, load::step_line(s) + "\n"); });
  return load::run_threads(options, target, stop, [err](const Interval& interval) {
    print(err, fmt::format("{:4} {}\n", interval.second,
                           load::figures_line(static_cast<double>(interval.messages),
                                              *interval.latency, interval.errors)));
  });
}

// With --cleanup: deletes the queue if the load created it, or notes why it is kept.
void clean_up(const LoadOptions& options, const load::Target& target, LoadResult& result) {
  if (!options.cleanup) return;
  const std::string reason = result.created || target.created ? load::delete_queue(options, target)
                                                              : "it existed before the load";
  if (!reason.empty()) result.notes.push_back("queue " + target.queue + " is kept: " + reason);
}

// A signal during the cleanup comes after the measurement, and marks nothing. Signals have their
// former handlers on return: the first one ends the program while it prints the result.
std::expected<LoadResult, std::string> measure_and_clean_up(const LoadOptions& options,
                                                            const load::Target& target,
                                                            std::FILE* err) {
  const load::StopSignals stop(err);
  auto result = measure(options, target, stop, err);
  if (result) clean_up(options, target, *result);
  return result;
}

// The exit code of a measured load, with an error text where it is not 0.
int judge(const LoadResult& result, std::FILE* err) {
  if (!result.fault.empty()) {
    print(err, "error: " + result.fault + "; the figures above are of the time before\n");
    return 1;
  }
  if (result.total.messages == 0 && result.total.errors > 0) {
    print(err, "error: no request succeeded; the reasons are above\n");
    return 1;
  }
  if (result.deliveries && !result.deliveries->flawless()) {
    print(err, "error: deliveries are wrong; the counts are above\n");
    return 4;
  }
  return result.interrupted ? exit_interrupted : 0;
}

// Prints the result and writes its files. Returns the exit code of the files.
int publish(const LoadOptions& options, const LoadResult& result, std::FILE* out, std::FILE* err) {
  print(err, load::summary_text(result));
  if (result.interrupted && !result.measured()) return 0;
  if (!result.ramp.empty()) print(err, load::knee_text(result, options.p99_limit_us));
  const load::MachineFacts machine = load::machine_facts(options.data);
  if (options.json) print(out, load::result_json(options, result, machine));
  return load::write_files(options, result, machine, err);
}

}  // namespace

int run_load(const LoadOptions& options, std::FILE* out, std::FILE* err) {
  load::Target target;
  std::string fault = load::parse_target(options, target);
  if (fault.empty()) fault = wrong_use_of(options, target);
  if (!fault.empty()) return fail(2, fault, err);
  if (!target.http || !target.account.empty()) return run_load_at(options, target, out, err);
  const auto queue = load::find_queue(options);
  if (!queue) return fail(1, queue.error(), err);
  LoadOptions complete = options;
  complete.url = queue->url;
  complete.queue = target.queue;
  fault = load::parse_target(complete, target);
  CHECK(fault.empty() && !target.account.empty(), "the queue URL {}", complete.url);
  target.created = queue->created;
  return run_load_at(complete, target, out, err);
}

int run_load_at(const LoadOptions& options, const load::Target& target, std::FILE* out,
                std::FILE* err) {
  const std::string fault = wrong_use_of(options, target);
  if (!fault.empty()) return fail(2, fault, err);
  const SharpTimers sharp;
  const auto result = measure_and_clean_up(options, target, err);
  if (!result) return fail(1, result.error(), err);
  const int written = publish(options, *result, out, err);
  const int code = judge(*result, err);
  return code != 0 ? code : written;
}

}  // namespace pawl

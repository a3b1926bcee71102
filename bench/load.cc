// SPDX-License-Identifier: Apache-2.0
#include "bench/load.h"

#include <sys/prctl.h>

#include <cmath>

#include "bench/load_run.h"
#include "core/check.h"
#include "proto/binary/frames.h"

namespace pawl {
namespace {

using load::Interval;
using Workload = LoadOptions::Workload;

constexpr std::uint32_t http_batch_max = 10;
constexpr std::uint32_t binary_batch_max = 1024;
constexpr std::uint32_t body_max = 1 << 20;
constexpr std::uint64_t frame_overhead = 64;

const char* name_of(Workload workload) {
  constexpr const char* names[] = {"send", "receive", "e2e"};
  const auto index = static_cast<std::size_t>(workload);
  CHECK(index < std::size(names), "workload {}", index);
  return names[index];
}

// An error text about the options; empty: none.
std::string fault_of(const LoadOptions& o, bool http) {
  const std::uint32_t batch_max = http ? http_batch_max : binary_batch_max;
  if (o.connections < 1 || o.connections > 1024) return "--connections must be 1 to 1024";
  if (o.depth < 1 || o.depth > 1024) return "--depth must be 1 to 1024";
  if (o.batch < 1 || o.batch > batch_max)
    return "--batch must be 1 to " + std::to_string(batch_max);
  if (o.body < 1 || o.body > body_max) return "--body must be 1 to 1048576";
  if (o.workload == Workload::e2e && o.body < load::stamp_bytes)
    return "--body must be at least 16 for e2e";
  const std::uint64_t bytes = std::uint64_t{o.batch} * (o.body + 4) + frame_overhead;
  if (bytes > (http ? body_max + frame_overhead * http_batch_max : frame_bytes_max))
    return "--batch times --body is too large for a request";
  if (!(o.rate >= 0) || std::isinf(o.rate)) return "--rate must be a number from 0";
  if (o.messages % o.batch != 0) return "--messages must be a multiple of --batch";
  if (!(o.seconds > 0) || o.seconds > 86'400) return "--seconds must be above 0, at most a day";
  if (!http && o.queue.ends_with(".fifo"))
    return "--queue " + o.queue +
           ": FIFO queues are loaded over HTTP alone; give --url http://host:9324/account/" +
           o.queue;
  return {};
}

double us(std::uint64_t ns) { return static_cast<double>(ns) / 1000; }

void print_figures(std::FILE* err, double per_second, const Histogram& h, std::uint64_t errors) {
  std::fprintf(
      err, "%12.0f msg/s   p50 %.0f  p90 %.0f  p99 %.0f  p99.9 %.0f  max %.0f us   errors %llu\n",
      per_second, us(h.quantile(0.5)), us(h.quantile(0.9)), us(h.quantile(0.99)),
      us(h.quantile(0.999)), us(h.max()), static_cast<unsigned long long>(errors));
}

void print_json(std::FILE* out, const LoadOptions& o, const load::Run& run, double per_second) {
  const Histogram& h = run.latency();
  std::fprintf(
      out,
      "{\"workload\":\"%s\",\"protocol\":\"%s\",\"connections\":%u,\"depth\":%u,\"batch\":%u,"
      "\"body\":%u,"
      "\"rate\":%.1f,\"spin\":%s,\"elapsed_s\":%.3f,\"messages\":%llu,\"messages_per_s\":%.1f,"
      "\"p50_us\":%.1f,\"p90_us\":%.1f,\"p99_us\":%.1f,\"p999_us\":%.1f,\"max_us\":%.1f,\"mean_"
      "us\":%.1f,"
      "\"errors\":%llu}\n",
      name_of(o.workload), o.url.empty() ? "binary" : "http", o.connections, o.depth, o.batch,
      o.body, o.rate, o.spin ? "true" : "false", run.elapsed_seconds(),
      static_cast<unsigned long long>(run.messages()), per_second, us(h.quantile(0.5)),
      us(h.quantile(0.9)), us(h.quantile(0.99)), us(h.quantile(0.999)), us(h.max()),
      h.mean() / 1000, static_cast<unsigned long long>(run.errors()));
  std::fflush(out);
}

int write_hgrm(const std::string& path, const Histogram& latency, std::FILE* err) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (!file) {
    std::fprintf(err,
                 "error: cannot write %s; name a file in a directory that exists with --hgrm\n",
                 path.c_str());
    return 1;
  }
  latency.write_hgrm(file);
  return std::fclose(file) == 0 ? 0 : 1;
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

}  // namespace

int run_load(const LoadOptions& options, std::FILE* out, std::FILE* err) {
  load::Target target;
  std::string fault = load::parse_target(options, target);
  if (fault.empty()) fault = fault_of(options, target.http);
  if (!fault.empty()) {
    std::fprintf(err, "error: %s\n", fault.c_str());
    return 2;
  }
  const SharpTimers sharp;
  load::Run run(options, target);
  fault = run.connect();
  if (fault.empty()) {
    fault = run.go([err](const Interval& interval) {
      std::fprintf(err, "%4llus ", static_cast<unsigned long long>(interval.second));
      print_figures(err, static_cast<double>(interval.messages), *interval.latency,
                    interval.errors);
    });
  }
  if (!fault.empty()) {
    std::fprintf(err, "error: %s\n", fault.c_str());
    return 1;
  }
  const double elapsed = run.elapsed_seconds();
  const double per_second = elapsed > 0 ? static_cast<double>(run.messages()) / elapsed : 0;
  std::fprintf(err, "total ");
  print_figures(err, per_second, run.latency(), run.errors());
  for (const auto& [reason, count] : run.reasons())
    std::fprintf(err, "refused %llu times: %s\n", static_cast<unsigned long long>(count),
                 reason.c_str());
  if (options.json) print_json(out, options, run, per_second);
  if (run.messages() == 0 && run.errors() > 0) {
    std::fprintf(err, "error: no request succeeded; the reasons are above\n");
    return 1;
  }
  return options.hgrm.empty() ? 0 : write_hgrm(options.hgrm, run.latency(), err);
}

}  // namespace pawl

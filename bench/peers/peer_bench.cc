// SPDX-License-Identifier: Apache-2.0
// bench_peers: the load generator of `pawl bench` against other brokers.
//
//   bench_peers send|e2e --url redis://127.0.0.1:6379/bench [--connections N] [--depth N] ...
//
// bench/peers/run starts it. The options are those of `pawl bench` with these names; the result is
// printed as JSON.
//
// Errors: exit codes as of run_load(); 2 for a wrong command line.
#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>

#include "bench/load.h"
#include "bench/peers/peer_codec.h"

namespace pawl {
namespace {

template <typename T>
bool read_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool read_option(std::string_view name, const char* value, LoadOptions& options) {
  if (name == "--url") return !(options.url = value).empty();
  if (name == "--connections") return read_number(value, options.connections);
  if (name == "--depth") return read_number(value, options.depth);
  if (name == "--batch") return read_number(value, options.batch);
  if (name == "--body") return read_number(value, options.body);
  if (name == "--rate") return read_number(value, options.rate);
  if (name == "--seconds") return read_number(value, options.seconds);
  if (name == "--warm-up") return read_number(value, options.warm_up);
  return false;
}

// False: a wrong command line.
bool read_options(int argc, char** argv, LoadOptions& options) {
  if (argc < 2) return false;
  const std::string_view workload = argv[1];
  if (workload != "send" && workload != "e2e") return false;
  options.workload = workload == "send" ? LoadOptions::Workload::send : LoadOptions::Workload::e2e;
  options.create = options.json = true;
  for (int i = 2; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--spin") {
      options.spin = true;
    } else if (name == "--verify") {
      options.verify = true;
    } else {
      ++i;
      if (i < argc && read_option(name, argv[i], options)) continue;
      std::fprintf(stderr, "error: %s is unknown, or its value is wrong\n", argv[i - 1]);
      return false;
    }
  }
  return true;
}

int run(int argc, char** argv) {
  LoadOptions options;
  load::Target target;
  if (!read_options(argc, argv, options)) {
    std::fprintf(stderr, "usage: bench_peers send|e2e --url scheme://host:port/queue ...\n");
    return 2;
  }
  const std::string fault = load::parse_peer_url(options.url, target);
  if (fault.empty()) return run_load_at(options, target, stdout, stderr);
  std::fprintf(stderr, "error: %s\n", fault.c_str());
  return 2;
}

}  // namespace
}  // namespace pawl

int main(int argc, char** argv) { return pawl::run(argc, argv); }

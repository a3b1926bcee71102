// SPDX-License-Identifier: Apache-2.0
// pawl_exhaustive: every crash point, bit, failing operation and failing allocation of small
// workloads.
#include <fmt/core.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/mutant.h"
#include "tests/exhaustive/part.h"
#include "tests/sim/mutants.h"

namespace pawl::exhaustive {
namespace {

struct Options {
  Settings settings;
  std::string_view only;
  bool json = false;
};

constexpr std::string_view usage =
    "usage: pawl_exhaustive [--only crash|bits|disk|memory] [--limit N] [--json]\n"
    "                       [--story NAME] [--seeds N] [--stride N] [--first N] [--no-walk]\n"
    "                       [--seed S --point P --state X] [--mutant NAME]\n"
    "  --limit N     states of a part, no more (crash: 1000000)\n"
    "  --story NAME  this workload alone; of bits, this file\n"
    "  --seeds N     crash: how often each workload is told\n"
    "  --stride N    bits, disk, memory: every N-th alone; --first: of bits, from this one on\n"
    "  --no-walk     bits: without what `pawl wal verify` finds\n"
    "  --state X     one state, as a failure names it\n"
    "  --mutant NAME with this mistake of core/base/mutant.h built in\n";

bool set_mutant(std::string_view name) {
  for (const sim::MutantName& known : sim::mutant_names) {
    if (name != known.name) continue;
    active_mutant = known.mutant;
    return true;
  }
  return false;
}

bool set(Options& options, std::string_view flag, std::string_view value) {
  Settings& settings = options.settings;
  if (flag == "--mutant") return set_mutant(value);
  if (flag == "--only") return options.only = value, true;
  if (flag == "--story") return settings.story = value, true;
  if (flag == "--state") return settings.state = value, true;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size()) return false;
  if (flag == "--limit") return settings.limit = number, true;
  if (flag == "--seeds") return settings.seeds = number, true;
  if (flag == "--seed") return settings.seed = number, true;
  if (flag == "--point") return settings.point = number, true;
  if (flag == "--first") return settings.first = number, true;
  if (flag == "--stride" && number > 0) return settings.stride = number, true;
  return false;
}

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--json") {
      options.json = true;
    } else if (flag == "--no-walk") {
      options.settings.walk = false;
    } else if (i + 1 == argc || !set(options, flag, argv[++i])) {
      return false;
    }
  }
  return true;
}

int run(const Options& options) {
  struct {
    std::string_view name;
    void (*run)(Part&);
  } const parts[] = {
      {"crash",  run_crash },
      {"bits",   run_bits  },
      {"disk",   run_disk  },
      {"memory", run_memory},
  };
  std::uint64_t failures = 0, ran = 0;
  for (const auto& [name, run_part] : parts) {
    if (!options.only.empty() && options.only != name) continue;
    Settings settings = options.settings;
    if (name == "crash" && settings.limit == UINT64_MAX) settings.limit = 1'000'000;
    Part part(name, settings);
    run_part(part);
    part.end(options.json);
    failures += part.failures();
    ++ran;
  }
  return failures == 0 && ran > 0 ? 0 : 1;
}

}  // namespace
}  // namespace pawl::exhaustive

int main(int argc, char** argv) {
  pawl::exhaustive::Options options;
  if (!pawl::exhaustive::parse(argc, argv, options)) {
    fmt::print(stderr, "{}", pawl::exhaustive::usage);
    return 2;
  }
  pawl::exhaustive::install_last_words();
  return pawl::exhaustive::run(options);
}

// SPDX-License-Identifier: Apache-2.0
#include "bench/load_team.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "bench/load_seconds.h"
#include "core/base/check.h"

namespace pawl::load {
namespace {

// The part of `whole` for one of `parts`; all parts together are the whole.
template <typename T>
T share_of(T whole, std::uint32_t parts, std::uint32_t part) {
  return whole / parts + (part < whole % parts ? 1 : 0);
}

LoadOptions share_of(const LoadOptions& whole, std::uint32_t thread) {
  LoadOptions share = whole;
  share.connections = share_of(whole.connections, whole.threads, thread);
  share.rate = whole.rate / whole.threads;
  share.messages = share_of(whole.messages / whole.batch, whole.threads, thread) * whole.batch;
  return share;
}

void add(LoadRound& to, const LoadRound& from) {
  to.latency.merge(from.latency);
  to.messages += from.messages;
  to.errors += from.errors;
}

LoadSecond figures_of(const Interval& interval) {
  const Histogram& h = *interval.latency;
  return {interval.messages, interval.errors, microseconds(h.quantile(0.5)),
          microseconds(h.quantile(0.99)), microseconds(h.max())};
}

using Runs = std::vector<std::unique_ptr<Run>>;

void collect(const LoadOptions& options, const Runs& runs, LoadResult& result) {
  result.rounds.resize(options.rounds);
  std::uint32_t complete = options.rounds;
  for (std::uint32_t i = 0; i < options.rounds; ++i) {
    LoadRound& round = result.rounds[i];
    for (const auto& run : runs) {
      const LoadRound& part = run->figures().rounds()[i];
      add(round, part);
      round.seconds = std::max(round.seconds, part.seconds);
    }
    add(result.total, round);
    result.total.seconds += round.seconds;
  }
  for (const auto& run : runs) {
    for (const auto& [reason, count] : run->figures().reasons()) result.reasons[reason] += count;
    result.interrupted = result.interrupted || run->interrupted();
    complete = std::min(complete, run->figures().complete_rounds());
  }
  result.rounds.resize(complete);
}

void drive(const Runs& runs, RunShared& shared, SecondsOfThreads& seconds, LoadResult& result) {
  std::mutex mutex;
  const std::uint64_t start = monotonic_ns();
  const auto body = [&](std::uint32_t thread) {
    const std::string fault =
        runs[thread]->go(start, [&](const Interval& i) { seconds.passed(thread, i); });
    seconds.ended(thread);
    if (fault.empty()) return;
    shared.broken = true;
    const std::lock_guard lock(mutex);
    if (result.fault.empty()) result.fault = fault;
  };
  std::vector<std::jthread> others;
  for (std::uint32_t i = 1; i < runs.size(); ++i) others.emplace_back(body, i);
  body(0);
}

}  // namespace

std::expected<LoadResult, std::string> run_threads(const LoadOptions& options, const Target& target,
                                                   const StopSignals& stop,
                                                   const SecondPassed& second_passed) {
  CHECK(options.threads >= 1 && options.threads <= options.connections, "{} threads",
        options.threads);
  LoadResult result;
  RunShared shared(options, target, stop);
  Runs runs;
  std::uint32_t producers = 0;
  for (std::uint32_t i = 0; i < options.threads && !stop.requested(); ++i) {
    const LoadOptions share = share_of(options, i);
    runs.push_back(std::make_unique<Run>(share, target, shared, i, producers));
    producers += share.connections;
    if (std::string fault = runs.back()->connect(options.create && i == 0); !fault.empty())
      return std::unexpected(fault);
    result.created = result.created || runs.back()->created();
  }
  if (stop.requested()) {
    result.interrupted = true;
    return result;
  }
  const SecondPassed complete = [&](const Interval& interval) {
    result.seconds.push_back(figures_of(interval));
    second_passed(interval);
  };
  SecondsOfThreads seconds(options.threads, complete);
  drive(runs, shared, seconds, result);
  collect(options, runs, result);
  if (shared.check) result.deliveries = shared.check->counts();
  return result;
}

std::string delete_queue(const LoadOptions& options, const Target& target) {
  auto channel = Channel::open(target);
  if (!channel) return channel.error();
  const auto codec = target.make(options, target);
  const std::string fault = codec->prepare(*channel, false);
  return fault.empty() ? codec->delete_queue(*channel) : fault;
}

}  // namespace pawl::load

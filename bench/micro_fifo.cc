// SPDX-License-Identifier: Apache-2.0
// FIFO and fair queues: the cost of a message must depend neither on the number of groups nor on
// the backlog.
#include "bench/micro.h"
#include "tests/core/cycle.h"

namespace pawl::bench {
namespace {

using test::Cycle;

// `range(0)` groups, `range(1)` waiting messages; an operation is the life of one message, ten a
// turn.
void live(benchmark::State& state, Cycle& cycle) {
  const auto groups = static_cast<std::uint64_t>(state.range(0));
  for (std::int64_t i = 0; i < state.range(1); i += 10) cycle.send_in_groups(10, groups);
  const auto round = [&] {
    cycle.send_in_groups(10, groups);
    if (cycle.receive(10) != 10) state.SkipWithError("not delivered");
    cycle.use_handles(Op::delete_message);
  };
  for (int i = 0; i < 10'000; ++i) round();
  Allocations allocations(state);
  for (auto _ : state) round();
  allocations.done(state.iterations() * 10);
}

void fifo_send_receive_delete(benchmark::State& state) {
  Cycle cycle({
      {Attribute::fifo_queue, 1, {}}
  });
  live(state, cycle);
}
BENCHMARK(fifo_send_receive_delete)
    ->ArgNames({"groups", "backlog"})
    ->Args({10, 0})
    ->Args({1'000'000, 0})
    ->Args({10, 1'000'000})
    ->Args({1'000'000, 1'000'000});

void fair_send_receive_delete(benchmark::State& state) {
  Cycle cycle;
  live(state, cycle);
}
BENCHMARK(fair_send_receive_delete)
    ->ArgNames({"groups", "backlog"})
    ->Args({10, 0})
    ->Args({10, 1'000'000})
    ->Args({1'000'000, 1'000'000});

// Repeated sends: every message is a duplicate.
void fifo_duplicates(benchmark::State& state) {
  Cycle cycle({
      {Attribute::fifo_queue, 1, {}}
  });
  cycle.send_in_groups(10, 10);
  Allocations allocations(state);
  for (auto _ : state) cycle.send(10);
  allocations.done(state.iterations() * 10);
}
BENCHMARK(fifo_duplicates);

}  // namespace
}  // namespace pawl::bench

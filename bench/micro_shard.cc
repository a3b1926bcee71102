// SPDX-License-Identifier: Apache-2.0
// The whole core: messages are sent, received and deleted, in turns of a batch of ten.
#include "bench/micro.h"
#include "tests/core/cycle.h"

namespace pawl::bench {
namespace {

using test::Cycle;

// `range(0)` messages wait in the queue; an operation is the life of one message.
void shard_send_receive_delete(benchmark::State& state) {
  Cycle cycle;
  for (std::int64_t i = 0; i < state.range(0); i += 10) cycle.send(10);
  const auto round = [&] {
    cycle.send(10);
    if (cycle.receive(10) != 10) state.SkipWithError("not delivered");
    cycle.use_handles(Op::delete_message);
  };
  for (int i = 0; i < 10'000; ++i) round();
  Allocations allocations(state);
  for (auto _ : state) round();
  allocations.done(state.iterations() * 10);
}
BENCHMARK(shard_send_receive_delete)->Arg(0)->Arg(1'000'000);

// Batches of one, received by a waiting long poll.
void shard_long_poll(benchmark::State& state) {
  Cycle cycle;
  const auto round = [&] {
    cycle.receive(1, seconds(20));
    cycle.send(1);
    cycle.turn(nullptr);
    if (cycle.delivered() != 1) state.SkipWithError("not delivered");
    cycle.use_handles(Op::delete_message);
  };
  for (int i = 0; i < 10'000; ++i) round();
  Allocations allocations(state);
  for (auto _ : state) round();
  allocations.done(state.iterations());
}
BENCHMARK(shard_long_poll);

// The visibility timeout of every message expires: 5000 messages, 100 ms.
void shard_visibility_expires(benchmark::State& state) {
  Cycle cycle;
  for (int i = 0; i < 500; ++i) cycle.send(10);
  const auto round = [&] {
    if (cycle.receive(10, {}, milliseconds(100)) != 10) state.SkipWithError("not delivered");
  };
  for (int i = 0; i < 10'000; ++i) round();
  Allocations allocations(state);
  for (auto _ : state) round();
  allocations.done(state.iterations() * 10);
}
BENCHMARK(shard_visibility_expires);

// Messages are received in tens, return once at their timeout, are received again and deleted.
void shard_first_timeout_ends(benchmark::State& state) {
  Cycle cycle;
  const auto round = [&] {
    cycle.send(10);
    if (cycle.receive(10, {}, milliseconds(1)) != 10) state.SkipWithError("not delivered");
    if (cycle.receive(10) != 10) state.SkipWithError("not returned");
    cycle.use_handles(Op::delete_message);
  };
  for (int i = 0; i < 10'000; ++i) round();
  Allocations allocations(state);
  for (auto _ : state) round();
  allocations.done(state.iterations() * 10);
}
BENCHMARK(shard_first_timeout_ends);

}  // namespace
}  // namespace pawl::bench

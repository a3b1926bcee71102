// SPDX-License-Identifier: Apache-2.0
// The index of a queue, the ring between threads, receipts.
#include <memory>

#include "bench/micro.h"
#include "core/containers/spsc.h"
#include "core/queue/receipt.h"
#include "core/queue/seq_index.h"
#include "tests/core/secret.h"

namespace pawl::bench {
namespace {

// The life of a message in the index: put, make ready, find, take, erase; `range(0)` wait.
void seq_index_cycle(benchmark::State& state) {
  PagePool pool;
  SeqIndex index(pool);
  Seq next = 1;
  const auto add = [&] {
    index.put(next, IndexEntry::log(next));
    index.make_ready(next++, SeqIndex::Set::fresh);
  };
  const auto cycle = [&] {
    add();
    const Seq seq = index.first_ready(SeqIndex::Set::fresh);
    index.make_unready(seq);
    benchmark::DoNotOptimize(index.find(seq));
    index.erase(seq);
  };
  for (std::int64_t i = 0; i < state.range(0); ++i) add();
  for (std::int64_t i = 0; i < 2 * state.range(0) + 100'000; ++i) cycle();
  Allocations allocations(state);
  for (auto _ : state) cycle();
  allocations.done(state.iterations());
}
BENCHMARK(seq_index_cycle)->Arg(0)->Arg(10'000)->Arg(1'000'000);

// An old message returns among many waiting ones, and the order is restored.
void seq_index_return(benchmark::State& state) {
  PagePool pool;
  SeqIndex index(pool);
  constexpr Seq waiting = 1'000'000;
  for (Seq seq = 1; seq <= waiting; ++seq) index.put(seq, IndexEntry::log(seq));
  Allocations allocations(state);
  Seq seq = 1;
  for (auto _ : state) {
    index.make_ready(seq, SeqIndex::Set::returned);
    benchmark::DoNotOptimize(index.first_ready(SeqIndex::Set::returned));
    index.make_unready(seq);
    seq = 1 + (seq + 7919) % waiting;
  }
  allocations.done(state.iterations());
}
BENCHMARK(seq_index_return);

// One thread on both sides: measures the code, not the transfer of a cache line between cores.
void spsc_push_drain(benchmark::State& state) {
  auto ring = std::make_unique<SpscRing<std::uint64_t, 1024>>();
  const auto batch = static_cast<std::uint64_t>(state.range(0));
  Allocations allocations(state);
  std::uint64_t sum = 0;
  for (auto _ : state) {
    for (std::uint64_t i = 0; i < batch; ++i) ring->push(i);
    ring->publish();
    ring->drain(batch, [&](std::uint64_t item) { sum += item; });
  }
  benchmark::DoNotOptimize(sum);
  allocations.done(state.iterations() * state.range(0));
}
BENCHMARK(spsc_push_drain)->Arg(1)->Arg(64);

void receipt_seal(benchmark::State& state) {
  const SipKey key = test::test_receipt_key();
  Receipt receipt{.queue = QueueId{1}, .seq = 1};
  Allocations allocations(state);
  for (auto _ : state) {
    ++receipt.seq;
    benchmark::DoNotOptimize(seal(key, receipt));
  }
  allocations.done(state.iterations());
}
BENCHMARK(receipt_seal);

void receipt_open(benchmark::State& state) {
  const SipKey key = test::test_receipt_key();
  ReceiptHandle handle = seal(key, {.queue = QueueId{1}, .seq = 1});
  Allocations allocations(state);
  for (auto _ : state) {
    benchmark::DoNotOptimize(handle);
    benchmark::DoNotOptimize(open(key, handle));
  }
  allocations.done(state.iterations());
}
BENCHMARK(receipt_open);

void message_id_of(benchmark::State& state) {
  const Secret secret = test::test_secret();
  Seq seq = 0;
  Allocations allocations(state);
  for (auto _ : state) benchmark::DoNotOptimize(message_id(secret, QueueId{1}, ++seq));
  allocations.done(state.iterations());
}
BENCHMARK(message_id_of);

}  // namespace
}  // namespace pawl::bench

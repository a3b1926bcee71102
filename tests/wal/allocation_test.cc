// The promise of wal/log.h that a steady state allocates nothing, counted.
// Not with sanitizers: they bring an operator new of their own.
#ifndef PAWL_SANITIZED

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "tests/wal/log_fixture.h"

namespace {
std::size_t allocations = 0;
}

void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace pawl {
namespace {

using Allocation = LogTest;

TEST_F(Allocation, ASteadyStateOfSendsReceivesAndDeletesAllocatesNothing) {
  options.segment_bytes = 1 << 20;  // one turn in twenty begins a segment, which has names to make
  open();
  settle();
  const std::string body = body_of(1, 500);
  Content content;
  content.body = body;
  effects.sends.resize(10);
  effects.receives.resize(10);
  effects.removes.resize(10);
  std::size_t worst = 0, quiet = 0;
  Seq seq = 0;
  for (int turn = 0; turn < 400; ++turn) {
    for (std::size_t i = 0; i < 10; ++i) {
      ++seq;
      effects.sends[i] = {test_queue, seq, now, now, &content};
      effects.receives[i] = {test_queue, seq, 1, 1, now, now, now};
      effects.removes[i] = {test_queue, seq};
    }
    const std::size_t before = allocations;
    const std::uint64_t spares = log->stats().spare_segments;
    log->append(effects, now);
    for (const SendRecord& record : effects.sends) log->release(record.position);
    pump(true);
    pump(true);
    const std::size_t took = allocations - before;
    if (log->wants_snapshot())
      snapshot(), effects.sends.resize(10), effects.receives.resize(10), effects.removes.resize(10);
    if (turn < 100 || spares != options.spare_segments ||
        log->stats().spare_segments != options.spare_segments)
      continue;
    ++quiet;
    worst = std::max(worst, took);
  }
  EXPECT_GT(quiet, 200u);
  EXPECT_EQ(worst, 0u);
}

}  // namespace
}  // namespace pawl

#endif

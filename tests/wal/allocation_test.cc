// SPDX-License-Identifier: Apache-2.0
// Allocation counts: a steady state allocates nothing, as wal/log.h promises.
#include <gtest/gtest.h>

#include "tests/core/allocations.h"
#include "tests/wal/log_fixture.h"

namespace pawl {
namespace {

using Allocation = LogTest;

TEST_F(Allocation, ASteadyStateOfSendsReceivesAndDeletesAllocatesNothing) {
  options.segment_bytes = 1 << 20;  // few turns begin a segment and create files
  open();
  settle();
  const std::string body = body_of(1, 500);
  Content content;
  content.body = body;
  effects.sends.resize(10);
  effects.receives.resize(10);
  effects.deletes.resize(10);
  std::uint64_t worst = 0, quiet = 0;
  Seq seq = 0;
  for (int turn = 0; turn < 400; ++turn) {
    for (std::size_t i = 0; i < 10; ++i) {
      ++seq;
      effects.sends[i] = {test_queue, seq, now, now, &content};
      effects.receives[i] = {test_queue, seq, 1, 1, now, now, now};
      effects.deletes[i] = {test_queue, seq};
    }
    const std::uint64_t before = test::allocations();
    const std::uint64_t spares = log->stats().spare_segments;
    log->append(effects, now);
    for (const SendRecord& record : effects.sends) log->release(record.position);
    pump(true);
    pump(true);
    const std::uint64_t took = test::allocations() - before;
    if (log->wants_checkpoint()) checkpoint();
    if (turn < 100 || spares != options.spare_segments ||
        log->stats().spare_segments != options.spare_segments)
      continue;
    ++quiet;
    worst = std::max(worst, took);
  }
  EXPECT_GT(quiet, 200u);
  EXPECT_EQ(worst, 0u);
}

TEST_F(Allocation, ReadingBodiesBackAllocatesNothing) {
  options.memory_max = 4 * options.extent_bytes;
  open();
  settle();
  std::vector<LogPos> positions;
  for (Seq seq = 1; seq <= 100; ++seq) positions.push_back(send(seq, body_of(seq, 1500)));
  checkpoint();
  settle();
  ASSERT_GT(log->stats().extents_evicted, 0u);
  std::uint64_t come = 0, allocated = 0;
  // By round 8, structures that grow with the peak of wanted bodies have their size.
  for (int round = 0; round < 12; ++round) {
    if (round == 8) allocated = test::allocations();
    for (std::size_t i = 0; i < positions.size(); i += round % 2 == 0 ? 1 : 7) {
      if (log->in_memory(positions[i])) log->record(positions[i]);
      log->want({.position = positions[i]});
      pump(true);
      WantedBody wanted;
      std::span<const std::byte> record;
      while (log->next_body(wanted, record)) come += record.empty() ? 0 : 1;
    }
    for (int i = 0; i < 10; ++i) {
      pump(true);
      WantedBody wanted;
      std::span<const std::byte> record;
      while (log->next_body(wanted, record)) come += record.empty() ? 0 : 1;
    }
  }
  EXPECT_EQ(test::allocations() - allocated, 0u);
  EXPECT_EQ(come, 6u * (100 + 15));
  EXPECT_GT(log->stats().bodies_read, 20 * options.extent_bytes);
}

}  // namespace
}  // namespace pawl

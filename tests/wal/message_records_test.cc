// SPDX-License-Identifier: Apache-2.0
#include "wal/format/message_records.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/wal/records_fixture.h"

namespace pawl {
namespace {

using namespace records_test;

TEST(MessageRecords, BatchesComeBackInOrderWhateverTheirNumbers) {
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::size_t n = 1 + random.below(batch_max);
    const QueueId queue{static_cast<std::uint32_t>(random.any())};
    std::vector<DeleteRecord> deletes(n);
    std::vector<ReceiveRecord> receives(n);
    std::vector<HeadRecord> heads(n);
    const bool reserved = random.below(2) == 0;
    const bool waits = random.below(2) == 0, final = random.below(2) == 0;
    const bool cancelled = random.below(2) == 0, apart = random.below(2) == 0;
    const bool expired = random.below(2) == 0;
    for (std::size_t i = 0; i < n; ++i) {
      deletes[i] = {queue, random.any() & seq_max};
      receives[i] = {queue,
                     random.any() & seq_max,
                     static_cast<std::uint32_t>(random.any()),
                     static_cast<std::uint32_t>(random.any()),
                     random.instant(),
                     random.instant(),
                     random.instant(),
                     waits,
                     final,
                     cancelled,
                     apart,
                     expired};
      heads[i] = {QueueId{static_cast<std::uint32_t>(random.any())}, random.any() & seq_max,
                  reserved};
    }
    const PurgeRecord purge{queue, random.any() & seq_max, random.instant()};

    Bytes bytes;
    bytes.add(encode_heads(bytes.at(), heads, stream));
    EXPECT_LE(bytes.used, heads_bytes_max(n));
    std::size_t before = bytes.used;
    bytes.add(encode_receives(bytes.at(), receives, stream));
    EXPECT_LE(bytes.used - before, receives_bytes_max(n));
    before = bytes.used;
    bytes.add(encode_deletes(bytes.at(), deletes, stream));
    EXPECT_LE(bytes.used - before, deletes_bytes_max(n));
    before = bytes.used;
    bytes.add(encode_purge(bytes.at(), purge, stream));
    EXPECT_LE(bytes.used - before, purge_bytes);
    const NumberRecord number{
        queue,
        1 + random.below(seq_max),
        {random.any() | 1, random.any()},
        Instant{static_cast<std::int64_t>(random.any() >> 17)}
    };
    before = bytes.used;
    bytes.add(encode_number(bytes.at(), number, stream));
    EXPECT_EQ(bytes.used - before, number_bytes);

    Seen seen;
    ASSERT_TRUE(bytes.decode(seen));
    ASSERT_EQ(seen.deletes.size(), n);
    ASSERT_EQ(seen.receives.size(), n);
    ASSERT_EQ(seen.heads.size(), n);
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_EQ(seen.deletes[i].queue, queue);
      EXPECT_EQ(seen.deletes[i].seq, deletes[i].seq);
      EXPECT_EQ(seen.heads[i].queue, heads[i].queue);
      EXPECT_EQ(seen.heads[i].next_seq, heads[i].next_seq);
      EXPECT_EQ(seen.heads[i].reserved, reserved);
      const ReceiveRecord &got = seen.receives[i], &want = receives[i];
      EXPECT_EQ(got.queue, queue);
      EXPECT_EQ(got.seq, want.seq);
      EXPECT_EQ(got.nonce, want.nonce);
      EXPECT_EQ(got.receive_count, want.receive_count);
      EXPECT_EQ(got.deadline, want.deadline);
      EXPECT_EQ(got.first_received, want.first_received);
      EXPECT_EQ(got.last_received, want.last_received);
      EXPECT_EQ(got.waits, waits);
      EXPECT_EQ(got.final_deadline, final);
      EXPECT_EQ(got.cancelled, cancelled);
      EXPECT_EQ(got.aged_apart, apart);
      EXPECT_EQ(got.expired, expired);
    }
    ASSERT_EQ(seen.purges.size(), 1u);
    EXPECT_EQ(seen.purges[0].below, purge.below);
    EXPECT_EQ(seen.purges[0].at, purge.at);
    ASSERT_EQ(seen.numbers.size(), 1u);
    EXPECT_EQ(seen.numbers[0].topic, queue);
    EXPECT_EQ(seen.numbers[0].seq, number.seq);
    EXPECT_EQ(seen.numbers[0].dedup, number.dedup);
    EXPECT_EQ(seen.numbers[0].sent, number.sent);
  }
}

TEST(MessageRecords, ABatchOfNeighboursTakesAFewBytesEach) {
  std::vector<DeleteRecord> deletes;
  std::vector<ReceiveRecord> receives;
  for (Seq seq = 0; seq < batch_max; ++seq) {
    const Instant now{1'700'000'000'000};
    deletes.push_back({QueueId{1}, 1'000'000 + seq});
    receives.push_back({QueueId{1}, 1'000'000 + seq, 0xdeadbeef, 1, now + seconds(30), now, now});
  }
  Bytes bytes;
  EXPECT_LE(encode_deletes(bytes.at(), deletes, stream), 26 + batch_max + 8);
  EXPECT_LE(encode_receives(bytes.at(), receives, stream), 34 + batch_max * 11 + 8);
}

}  // namespace
}  // namespace pawl

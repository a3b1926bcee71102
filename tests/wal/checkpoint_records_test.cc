// SPDX-License-Identifier: Apache-2.0
// The records of a checkpoint, byte by byte: a record that no encoder writes is refused.
#include "wal/format/checkpoint_records.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <vector>

#include "tests/wal/records_fixture.h"
#include "wal/format/format.h"
#include "wal/format/records.h"

namespace pawl {
namespace {

using records_test::stream;
constexpr std::size_t length_at = 4, hash_at = 8, body_at = 12, count_at = 16;

struct Nothing final : RecordSink {
  void send(const StoredMessage&, std::size_t) override { ++seen; }
  void receive(const ReceiveRecord&) override { ++seen; }
  void delete_message(const DeleteRecord&) override { ++seen; }
  void purge(const PurgeRecord&) override { ++seen; }
  void config(const ConfigRecord&) override { ++seen; }
  void row(const RowRecord&) override { ++seen; }
  void head(const HeadRecord&) override { ++seen; }
  void task(const TaskRecord&) override { ++seen; }
  void forget_transfer(const ForgetTransferRecord&) override { ++seen; }
  void number(const NumberRecord&) override { ++seen; }
  void replay(const ReplayRecord&) override { ++seen; }
  void checkpoint(const CheckpointRecord&) override { ++seen; }
  void segment(const SegmentRecord& record) override {
    seen += record.number == 3 ? 1 : 0;
  }  // the first record
  int seen = 0;
};

// Decodes one record with a correct hash.
Errc decoded(std::vector<std::byte> record, std::size_t length) {
  record.resize(align_record(length), std::byte{0});
  const auto stored = static_cast<std::uint32_t>(length);
  std::memcpy(record.data() + length_at, &stored, sizeof stored);
  std::uint64_t first;
  std::memcpy(&first, record.data(), sizeof first);
  const auto hash = static_cast<std::uint32_t>(
      hash_bytes({record.data() + body_at, length - body_at}, stream ^ first));
  std::memcpy(record.data() + hash_at, &hash, sizeof hash);
  Nothing sink;
  const auto read = decode_records(record, 1, stream, sink);
  EXPECT_EQ(sink.seen, read ? 1 : 0) << "half a record was given out";
  return read ? Errc::ok : read.error().code;
}

struct Sample {
  const char* name;
  std::function<void(std::byte*)> encode;
  std::vector<std::size_t> counts;  // offsets of the counts

  std::vector<std::byte> record() const {
    std::vector<std::byte> bytes(4096);
    encode(bytes.data());
    std::uint32_t length;
    std::memcpy(&length, bytes.data() + length_at, sizeof length);
    bytes.resize(length);
    return bytes;
  }
};

const std::vector<Sample> samples = {
    {"places",
     [](std::byte* out) {
       const IndexEntriesRecord::Entry entries[] = {
           {                   1,                           4096}, {                     2, 8192}, {                     900,                     1 << 20}};
       encode_index_entries(out, QueueId{1}, entries, stream);
     }, {count_at}},
    {"states",
     [](std::byte* out) {
       const TrackedMessagesRecord::Entry entries[] = {
           {                     1, 4096, Instant{5000}, Instant{4000}, 10, 1, 77, {}},
           {9, 8192, Instant{6000}, Instant{4500}, 20, 2, 78, {1, 2}},
           {10, 9000, Instant{6000}, Instant{4500}, 20, 2, 78, {1, 2}}};
       encode_tracked_messages(out, QueueId{1}, true, entries, stream);
     }, {count_at}},
    {"times",
     [](std::byte* out) {
       encode_times(
           out,
           {
               .queue = QueueId{1},
               .first = true,
               .end = 12,
               .buckets = {{1, Instant{1000}, Instant{2000}}, {7, Instant{3000}, Instant{3500}}},
               .aged = {{1500, 3}, {1700, 5}}},
           stream);
     }, {count_at, count_at + 4}},
    {"dedup",
     [](std::byte* out) {
       const Dedup::Entry entries[] = {
           {{1, 2}, 1, Instant{1000}}, {{3, 4}, 2, Instant{2000}}};
       encode_dedup(out, QueueId{1}, entries, stream);
     }, {count_at}},
    {"unsettled",
     [](std::byte* out) {
       encode_unsettled(out,
                        {
                            .from = {ShardId{1}, QueueId{2}, 3}, .queue = QueueId{4}, .task = 5},
                        stream);
     }, {}},
    {"segments",
     [](std::byte* out) {
       const SegmentRecord run[] = {
           {3, 900, 70'000}, {9, 1, 200}, {10, 2, 300}};
       encode_segments(out, run, stream);
     }, {body_at}},
    {"producers",
     [](std::byte* out) {
       const Producers::Entry entries[] = {
           {7, 3, Instant{1000}, {3, 9, 100}},
           {7, 3, Instant{1000}, {12, 13, 0}},
           {9, 1, Instant{900}, {1, 1, 0}}};
       encode_producers(out, QueueId{1}, entries, stream);
     }, {count_at}},
};

TEST(CheckpointRecords, OfAnyOtherLengthAreRefused) {
  for (const Sample& sample : samples) {
    SCOPED_TRACE(sample.name);
    const auto record = sample.record();
    ASSERT_EQ(decoded(record, record.size()), Errc::ok);
    for (std::size_t length = body_at; length < record.size() + 20; ++length) {
      if (length == record.size()) continue;
      EXPECT_EQ(decoded(record, length), Errc::corrupt) << length;
    }
  }
}

TEST(CheckpointRecords, WithAnyOtherCountAreRefused) {
  for (const Sample& sample : samples) {
    SCOPED_TRACE(sample.name);
    for (const std::size_t where : sample.counts) {
      const auto good = sample.record();
      std::uint32_t count;
      std::memcpy(&count, good.data() + where, sizeof count);
      for (const std::uint32_t other :
           {0u, count - 1, count + 1, 2 * count, 1u << 16, UINT32_MAX}) {
        auto record = good;
        std::memcpy(record.data() + where, &other, sizeof other);
        EXPECT_EQ(decoded(record, record.size()), Errc::corrupt) << other << " of " << count;
      }
    }
  }
}

TEST(CheckpointRecords, WithANumberOrAPositionOutOfRangeAreRefused) {
  const auto index_entries = [](Seq seq, LogPos position) {
    std::vector<std::byte> bytes(256);
    const IndexEntriesRecord::Entry entries[] = {
        {1,   4096    },
        {seq, position}
    };
    bytes.resize(encode_index_entries(bytes.data(), QueueId{1}, entries, stream));
    return bytes;
  };
  const auto tracked_messages = [](Seq seq, LogPos position) {
    std::vector<std::byte> bytes(256);
    const TrackedMessagesRecord::Entry entries[] = {
        {.seq = 1,   .position = 4096    },
        {.seq = seq, .position = position}
    };
    bytes.resize(encode_tracked_messages(bytes.data(), QueueId{1}, false, entries, stream));
    return bytes;
  };
  constexpr struct {
    const char* name;
    Seq seq;
    LogPos position;
    Errc want;
  } cases[] = {
      {"the last of both",  seq_max,     UINT64_MAX,      Errc::ok     },
      {"number",            seq_max + 1, 8192,            Errc::corrupt},
      {"largest number",    UINT64_MAX,  8192,            Errc::corrupt},
      {"behind 2^48",       2,           log_pos_max + 1, Errc::ok     },
      {"the same position", 2,           4096,            Errc::ok     },
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    for (const auto& record :
         {index_entries(c.seq, c.position), tracked_messages(c.seq, c.position)}) {
      Nothing sink;
      const auto read = decode_records(record, 1, stream, sink);
      EXPECT_EQ(read ? Errc::ok : read.error().code, c.want);
    }
  }
}

TEST(CheckpointRecords, WithAValueThatNoVersionWroteAreRefused) {
  constexpr struct {
    const char* name;
    std::size_t sample, at;
    unsigned char value;
  } cases[] = {
      {"places: the same number again",         0, 23, 0 },
      {"states: FIFO is 0 or 1",                1, 20, 2 },
      {"states: the flags have six bits",       1, 34, 64},
      {"times: first or not is 0 or 1",         2, 24, 2 },
      {"segments: the same number again",       5, 22, 0 },
      {"producers: an id of zero",              6, 20, 0 },
      {"producers: an empty run has no number", 6, 32, 0 },
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    auto record = samples[c.sample].record();
    EXPECT_NE(record[c.at], std::byte{c.value});
    record[c.at] = std::byte{c.value};
    EXPECT_EQ(decoded(record, record.size()), Errc::corrupt);
  }
}

TEST(CheckpointRecords, PartsOfACheckpointComeBackAsTheyWere) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    records_test::Random random(seed);
    const QueueId queue{static_cast<std::uint32_t>(random.any())};
    Seq seq = random.below(1000);
    IndexEntriesRecord index_entries{.queue = queue, .entries = {}};
    for (std::size_t n = random.below(index_entries_max + 1); n > 0; --n) {
      seq += 1 + random.below(5);
      index_entries.entries.push_back({seq, random.any() & log_pos_max});
    }
    TrackedMessagesRecord tracked{.queue = queue, .fifo = random.below(2) == 1, .entries = {}};
    for (std::size_t n = random.below(tracked_messages_max + 1); n > 0; --n) {
      seq += 1 + random.below(5);
      tracked.entries.push_back({
          .seq = seq,
          .position = random.any() & log_pos_max,
          .deadline = random.instant(),
          .since = random.instant(),
          .first_before = static_cast<std::uint32_t>(random.any()),
          .receive_count = static_cast<std::uint32_t>(random.any()),
          .nonce = static_cast<std::uint32_t>(random.any()),
          .group = random.below(2) == 1 ? TextKey{random.any() | 1, random.any()}
                : TextKey{},
          .waits = random.below(2) == 1,
          .final_deadline = random.below(2) == 1,
          .cancelled = random.below(2) == 1,
          .aged_apart = random.below(2) == 1,
          .expired = random.below(2) == 1
      });
    }
    TimesRecord times{.queue = queue,
                      .first = random.below(2) == 1,
                      .end = seq,
                      .buckets = {},
                      .aged = {},
                      .ends = random.below(2) == 1};
    const std::size_t buckets = random.below(times_max + 1);
    for (std::size_t n = 0; n < buckets; ++n)
      times.buckets.push_back({random.any() & seq_max, random.instant(), random.instant()});
    for (std::size_t n = random.below(times_max - buckets + 1); n > 0; --n)
      times.aged.emplace_back(random.instant().ms, random.any() & seq_max);
    DedupRecord dedup{.queue = queue, .entries = {}};
    for (std::size_t n = random.below(dedup_max + 1); n > 0; --n)
      dedup.entries.push_back({
          {random.any(), random.any()},
          random.any() & seq_max, random.instant()
      });
    const UnsettledTransferRecord unsettled{
        .from = {ShardId{7}, queue, random.any() & seq_max},
        .queue = QueueId{static_cast<std::uint32_t>(random.any())},
        .task = static_cast<std::uint32_t>(random.any())
    };
    ProducersRecord producers{.queue = queue, .entries = {}};
    for (std::size_t n = random.below(producers_max + 1); n > 0; --n) {
      const std::uint64_t floor = random.any() >> 2;
      const std::uint64_t first = floor + random.below(9), end = first + random.below(9);
      const Seq number = end == first ? 0 : random.any() & (seq_max >> 1);
      producers.entries.push_back({
          random.any() | 1, floor, random.instant(), {first, end, number}
      });
    }
    FiresRecord fires{.queue = queue, .entries = {}};
    std::uint32_t schedule = 0;
    for (std::size_t n = random.below(fires_max + 1); n > 0; --n) {
      schedule += 1 + static_cast<std::uint32_t>(random.below(1000));
      const Fire fire{QueueId{schedule}, Instant{1 + static_cast<std::int64_t>(random.any() >> 2)}};
      fires.entries.push_back({fire, 1 + random.below(1 << 20)});
    }
    records_test::Bytes bytes;
    const auto add = [&](std::size_t used, std::size_t most) {
      EXPECT_LE(used, most);
      bytes.add(used);
    };
    add(encode_index_entries(bytes.at(), queue, index_entries.entries, stream),
        index_entries_bytes_max(index_entries.entries.size()));
    add(encode_tracked_messages(bytes.at(), queue, tracked.fifo, tracked.entries, stream),
        tracked_messages_bytes_max(tracked.entries.size()));
    add(encode_times(bytes.at(), times, stream),
        times_bytes_max(times.buckets.size() + times.aged.size()));
    add(encode_dedup(bytes.at(), queue, dedup.entries, stream),
        dedup_bytes_max(dedup.entries.size()));
    add(encode_unsettled(bytes.at(), unsettled, stream), unsettled_bytes);
    add(encode_producers(bytes.at(), queue, producers.entries, stream),
        producers_bytes_max(producers.entries.size()));
    add(encode_fires(bytes.at(), queue, fires.entries, stream),
        fires_bytes_max(fires.entries.size()));
    records_test::Seen seen;
    ASSERT_TRUE(bytes.decode(seen));
    ASSERT_EQ(seen.parts.size(), 7u);
    EXPECT_EQ(std::get<IndexEntriesRecord>(seen.parts[0]).entries, index_entries.entries);
    EXPECT_EQ(std::get<TrackedMessagesRecord>(seen.parts[1]).entries, tracked.entries);
    EXPECT_EQ(std::get<TrackedMessagesRecord>(seen.parts[1]).fifo, tracked.fifo);
    EXPECT_EQ(std::get<TimesRecord>(seen.parts[2]), times);
    EXPECT_EQ(std::get<DedupRecord>(seen.parts[3]).entries, dedup.entries);
    EXPECT_EQ(std::get<UnsettledTransferRecord>(seen.parts[4]), unsettled);
    EXPECT_EQ(std::get<ProducersRecord>(seen.parts[5]).entries, producers.entries);
    EXPECT_EQ(std::get<FiresRecord>(seen.parts[6]).entries, fires.entries);
  }
}

TEST(CheckpointRecords, WhatWasSentInSegmentsComesBack) {
  std::vector<SegmentRecord> all;
  for (std::uint64_t i = 0; i < segments_max; ++i)
    all.push_back({3 + i * i, 1 + 100 * i, 70'000 * i});
  records_test::Bytes bytes;
  const std::size_t used = encode_segments(bytes.at(), all, stream);
  EXPECT_LE(used, segments_bytes_max(all.size()));
  bytes.add(used);
  records_test::Seen seen;
  ASSERT_TRUE(bytes.decode(seen));
  EXPECT_EQ(seen.segments, all);
}

TEST(CheckpointRecords, AnIndexEntryTakesTwoBytes) {
  std::vector<IndexEntriesRecord::Entry> entries;
  for (Seq seq = 1'000'000; entries.size() < index_entries_max; ++seq)
    entries.push_back({seq, 1'000'000'000 + seq * 176});
  records_test::Bytes bytes;
  EXPECT_LE(encode_index_entries(bytes.at(), QueueId{1}, entries, stream),
            2 * index_entries_max + 48);
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// FAN_OUT: one body for the messages of many queues.
#include "wal/format/fan_out_record.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/wal/records_fixture.h"

namespace pawl {
namespace {

using namespace records_test;

constexpr std::size_t no_limit = record_bytes_max;
constexpr Instant sent{5'000};

// Messages of queues 10, 20, ... that share a content.
struct Shared {
  Content content{.body = "hello", .attributes = "a", .notification = "in an envelope"};
  std::vector<SendRecord> records;

  explicit Shared(std::size_t queues) {
    for (std::size_t i = 0; i < queues; ++i)
      records.push_back({.queue = QueueId{static_cast<std::uint32_t>(10 * (i + 1))},
                         .seq = 100 + i,
                         .sent = sent,
                         .deliver_at = sent,
                         .content = &content});
  }
  Bytes encode() const {
    Bytes bytes;
    const std::size_t expected = fan_out_bytes(records);
    bytes.add(encode_fan_out(bytes.at(), records, stream));
    EXPECT_EQ(bytes.used, expected);
    return bytes;
  }
  std::size_t shared() const { return sharing(records, no_limit); }
};

TEST(FanOutRecord, GivesEachQueueItsMessage) {
  for (unsigned layout = 0; layout < 8; ++layout) {
    SCOPED_TRACE(layout);
    Shared run(5);
    for (SendRecord& record : run.records) {
      if (layout & FanOut::has_delay) record.deliver_at = sent + seconds(raw(record.queue));
      if (layout & FanOut::has_dedup) record.dedup = {record.seq, 2};
      if (layout & FanOut::has_subscription) record.subscription = {record.seq, 3};
    }
    const Bytes bytes = run.encode();
    Seen seen;
    ASSERT_TRUE(bytes.decode(seen));
    ASSERT_EQ(seen.sends.size(), 5u);
    for (std::size_t i = 0; i < 5; ++i) {
      const SendRecord& record = run.records[i];
      const Seen::Send& read = seen.sends[i];
      EXPECT_EQ(read.offset, 0u);
      EXPECT_EQ(read.body, "hello");
      EXPECT_EQ(read.attributes, "a");
      EXPECT_EQ(read.head.queue, record.queue);
      EXPECT_EQ(read.head.seq, record.seq);
      EXPECT_EQ(read.head.sent, sent);
      EXPECT_EQ(read.head.deliver_at, record.deliver_at);
      EXPECT_EQ(read.head.dedup, record.dedup);
      EXPECT_EQ(read.head.content.subscription, record.subscription);
      EXPECT_EQ(read.head.shares, i > 0) << "the bytes count once";
      const StoredMessage found = trusted_message(bytes.memory.data(), record.queue);
      EXPECT_EQ(found.seq, record.seq);
      EXPECT_EQ(found.content.body, "hello");
    }
    for (const std::uint32_t absent : {0u, 1u, 15u, 51u, UINT32_MAX})
      EXPECT_EQ(trusted_message(bytes.memory.data(), QueueId{absent}).seq, 0u) << absent;
  }
}

TEST(FanOutRecord, ARawMessageHasNoNotification) {
  Shared run(2);
  run.records[1].subscription = {1, 1};
  const Bytes bytes = run.encode();
  EXPECT_EQ(trusted_message(bytes.memory.data(), QueueId{10}).content.notification, "");
  EXPECT_EQ(trusted_message(bytes.memory.data(), QueueId{20}).content.notification,
            "in an envelope");
}

TEST(FanOutRecord, IsSharedByNeighboursThatMay) {
  EXPECT_EQ(Shared(1).shared(), 1u);
  EXPECT_EQ(Shared(2).shared(), 2u);
  EXPECT_EQ(Shared(9).shared(), 9u);
  const auto third = [](auto change) {
    Shared run(5);
    change(run.records[2]);
    return run.shared();
  };
  const Content other{.body = "hello"};
  EXPECT_EQ(third([&](SendRecord& r) { r.content = &other; }), 2u);
  EXPECT_EQ(third([](SendRecord& r) { r.queue = QueueId{20}; }), 2u) << "the queue of the second";
  EXPECT_EQ(third([](SendRecord& r) { r.queue = QueueId{5}; }), 2u);
  EXPECT_EQ(third([](SendRecord& r) { r.sent = sent + seconds(1); }), 2u);
  EXPECT_EQ(third([](SendRecord& r) { r.carried.from = {{}, QueueId{1}, 1}; }), 2u);
  EXPECT_EQ(third([](SendRecord& r) { r.producer = {1, 1}; }), 2u);
  EXPECT_EQ(third([](SendRecord& r) { r.aged_apart = true; }), 2u);
  EXPECT_EQ(third([](SendRecord& r) { r.own_delay = true; }), 2u);
  EXPECT_EQ(third([](SendRecord& r) { r.time_to_live = seconds(1); }), 2u);
}

// A receive reads the whole record, so its entries must not outweigh the content.
TEST(FanOutRecord, HasAsManyEntriesAsItsContentIsWorth) {
  Shared run(30'000);
  const std::size_t few = run.shared();
  EXPECT_GT(few, 80u);
  EXPECT_LE(few * FanOut::entry_bytes(7), FanOut::entries_bytes_min);
  const std::string body(200'000, 'x');
  run.content.body = body;
  const std::size_t many = run.shared();
  EXPECT_GT(many, 4'000u);
  EXPECT_LE(many * FanOut::entry_bytes(7), run.content.bytes());
  EXPECT_EQ(sharing(run.records, 200'000), 1u) << "no space for two entries";
  EXPECT_LT(sharing(run.records, 210'000), 300u);
}

TEST(FanOutRecord, TakesAtMostTheBytesThatWerePromised) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    Shared run(1 + random() % 700);
    const std::string body(1 + random() % 8'000, 'x');
    run.content.body = body;
    for (SendRecord& record : run.records) {
      record.subscription = {1, 1};
      record.dedup = {1, 1};
      record.deliver_at = sent + seconds(1);
    }
    const std::size_t limit = 9'000 + random() % 20'000;
    std::uint64_t bytes = 0;
    for (std::span<const SendRecord> left = run.records; !left.empty();) {
      const auto run_of = left.first(sharing(left, limit));
      const std::size_t taken = run_of.size() > 1 ? fan_out_bytes(run_of) : send_bytes(run_of[0]);
      EXPECT_LE(taken, limit);
      bytes += taken;
      left = left.subspan(run_of.size());
    }
    EXPECT_LE(bytes, fan_out_bytes_max(run.content, run.records.size(), limit));
  }
}

TEST(FanOutRecord, IsRelocatedForTheMessagesThatExist) {
  Shared run(5);
  for (SendRecord& record : run.records) record.subscription = {record.seq, 7};
  const Bytes bytes = run.encode();
  const std::span<const std::byte> record = bytes.span().first(record_length(bytes.memory.data()));
  Bytes copy;
  copy.add(FanOut::trusted(record.data())
               .encode_relocated(copy.at(), record, std::array<std::size_t, 2>{1, 4}, stream));
  Seen seen;
  ASSERT_TRUE(copy.decode(seen));
  ASSERT_EQ(seen.sends.size(), 2u);
  EXPECT_EQ(seen.sends[0].head.queue, QueueId{20});
  EXPECT_EQ(seen.sends[1].head.queue, QueueId{50});
  EXPECT_EQ(seen.sends[1].head.content.subscription, (MessageId{104, 7}));
  for (const Seen::Send& send : seen.sends) {
    EXPECT_TRUE(send.head.relocated);
    EXPECT_EQ(send.body, "hello");
  }
}

TEST(FanOutRecord, EveryFlippedBitAndTruncationIsNoticed) {
  const Bytes good = Shared(3).encode();
  const std::size_t length = record_length(good.memory.data());
  EXPECT_TRUE(is_whole_message(good.span(), stream));
  for (std::size_t i = 0; i < length * 8; ++i) {
    Bytes bad = good;
    bad.memory[i / 8] ^= static_cast<std::byte>(1 << (i % 8));
    EXPECT_FALSE(is_whole_message(bad.span(), stream)) << "bit " << i;
  }
  for (std::size_t n = 0; n < length; ++n)
    EXPECT_FALSE(is_whole_message(good.span().first(n), stream)) << n;
}

// Values that no encoder writes, with a matching hash.
TEST(FanOutRecord, NonsenseIsRefused) {
  struct Case {
    const char* name;
    std::size_t offset;
    std::uint8_t value;
  };
  constexpr Case cases[] = {
      {"no message",                         12, 0 },
      {"more messages than bytes",           14, 1 },
      {"an unknown layout",                  16, 8 },
      {"subscriptions without notification", 16, 4 },
      {"the queue of the one before",        27, 10},
      {"a receive state",                    2,  8 },
      {"a queue of origin",                  3,  4 },
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Bytes bytes = Shared(3).encode();
    bytes.memory[c.offset] = std::byte{c.value};
    rehash(bytes, record_length(bytes.memory.data()));
    Seen seen;
    EXPECT_FALSE(bytes.decode(seen));
    EXPECT_FALSE(is_whole_message(bytes.span(), stream));
  }
}

}  // namespace
}  // namespace pawl

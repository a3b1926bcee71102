// SPDX-License-Identifier: Apache-2.0
#include "wal/format/send_record.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "tests/wal/records_fixture.h"

namespace pawl {
namespace {

using namespace records_test;

TEST(SendRecords, ASendComesBackWithEveryPart) {
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::string body = random.text(400), attributes = random.text(100),
                      system = random.text(50), sender = random.text(255), group = random.text(128),
                      dedup_id = random.text(128), origin = random.text(255);
    std::array<std::uint8_t, 16> md5;
    for (auto& byte : md5) byte = static_cast<std::uint8_t>(random.below(256));
    Content content{.body = body,
                    .attributes = attributes,
                    .system = system,
                    .sender = sender,
                    .group = group,
                    .dedup_id = dedup_id,
                    .origin = origin};
    if (random.chance()) content.body_md5 = &md5;
    content.replayed = random.chance();
    SendRecord record{QueueId{static_cast<std::uint32_t>(random.any())},
                      random.any() & seq_max,
                      {static_cast<std::int64_t>(random.any() & seq_max)},
                      {},
                      &content};
    record.deliver_at = random.chance() ? record.sent : random.instant();
    if (random.chance()) record.dedup = {random.any(), random.any()};
    if (random.chance()) record.producer = {random.any() | 1, random.any() | 1};
    record.aged_apart = random.chance();
    record.own_delay = random.chance();
    if (random.chance())
      record.time_to_live =
          Duration{1 + static_cast<std::int64_t>(random.any() % time_to_live_max.ms)};
    if (random.chance()) content.reason = DeadLetterReason::expired;
    if (random.chance())
      record.fire = {QueueId{static_cast<std::uint32_t>(random.any()) | 1},
                     Instant{1 + static_cast<std::int64_t>(random.any() >> 2)}};
    if (random.chance()) {
      record.carried.from = {ShardId{static_cast<std::uint8_t>(random.any())},
                             QueueId{static_cast<std::uint32_t>(random.any())},
                             (random.any() & seq_max) | 1};
      record.carried.arrived = random.instant();
      record.carried.task = static_cast<std::uint32_t>(random.any());
    }
    if (random.chance()) record.carried.id = {random.any(), random.any()};
    if (random.chance()) {
      record.carried.receive_count = static_cast<std::uint32_t>(random.any()) | 1;
      record.carried.first_received = random.instant();
      record.carried.last_received = random.instant();
    }

    Bytes bytes;
    const std::size_t asked = send_bytes(record);
    bytes.add(encode_send(bytes.at(), record, stream));
    EXPECT_EQ(bytes.used, asked);
    Seen seen;
    ASSERT_TRUE(bytes.decode(seen));
    ASSERT_EQ(seen.sends.size(), 1u);
    const Seen::Send& got = seen.sends[0];
    EXPECT_EQ(got.body, body);
    EXPECT_EQ(got.attributes, attributes);
    EXPECT_EQ(got.system, system);
    EXPECT_EQ(got.sender, sender);
    EXPECT_EQ(got.group, group);
    EXPECT_EQ(got.dedup_id, dedup_id);
    EXPECT_EQ(got.origin, origin);
    EXPECT_EQ(got.head.content.replayed, content.replayed);
    EXPECT_EQ(got.head.dedup, record.dedup);
    EXPECT_EQ(got.head.producer, record.producer);
    EXPECT_EQ(got.head.aged_apart, record.aged_apart);
    EXPECT_EQ(got.head.own_delay, record.own_delay);
    EXPECT_EQ(got.head.time_to_live, record.time_to_live);
    EXPECT_EQ(got.head.content.reason, content.reason);
    EXPECT_EQ(got.head.fire, record.fire);
    EXPECT_EQ(got.head.carried, record.carried);
    EXPECT_EQ(got.head.queue, record.queue);
    EXPECT_EQ(got.head.seq, record.seq);
    EXPECT_EQ(got.head.sent, record.sent);
    EXPECT_EQ(got.head.deliver_at, record.deliver_at);
    EXPECT_EQ(got.head.has_body_md5, content.body_md5 != nullptr);
    if (content.body_md5) {
      EXPECT_EQ(got.head.body_md5, md5);
      EXPECT_EQ(*trusted_send(bytes.memory.data()).content.body_md5, md5);
    }
    EXPECT_EQ(trusted_send(bytes.memory.data()).content.body, body);
    EXPECT_EQ(decode_send(bytes.span(), stream)->content.body, body);
  }
}

TEST(SendRecords, ARelocatedSendIsTheSameButSaysSo) {
  const Bytes first = one_send("somewhere else");
  Bytes again;
  const std::size_t length = record_length(first.span().data());
  again.add(encode_relocated(again.at(), first.span().first(length), stream));
  EXPECT_EQ(again.used, first.used);
  Seen before, after;
  ASSERT_TRUE(first.decode(before));
  ASSERT_TRUE(again.decode(after));
  ASSERT_EQ(after.sends.size(), 1u);
  EXPECT_FALSE(before.sends[0].head.relocated);
  EXPECT_TRUE(after.sends[0].head.relocated);
  EXPECT_EQ(after.sends[0].body, "somewhere else");
  EXPECT_EQ(after.sends[0].head.queue, before.sends[0].head.queue);
  EXPECT_EQ(after.sends[0].head.seq, before.sends[0].head.seq);
  EXPECT_EQ(after.sends[0].head.sent, before.sends[0].head.sent);
}

// A SEND with these extensions, as a newer version may write them.
Bytes with_extensions(std::initializer_list<std::pair<std::uint16_t, std::string_view>> all) {
  std::string extensions;
  const auto put = [&](std::uint16_t n) { extensions.append(reinterpret_cast<char*>(&n), 2); };
  for (const auto& [number, bytes] : all) {
    put(number);
    put(static_cast<std::uint16_t>(bytes.size()));
    extensions += bytes;
  }
  const std::string text = std::string("  ") + extensions + "hello";
  Bytes bytes = one_send(text);
  const auto length = static_cast<std::uint16_t>(extensions.size());
  std::memcpy(bytes.memory.data() + 28, &length, sizeof length);
  bytes.memory[3] |= std::byte{field_extensions >> 8};
  rehash(bytes, 28 + text.size());
  return bytes;
}

TEST(SendRecords, AnIgnorableExtensionIsPassedOverAndStays) {
  const Bytes bytes = with_extensions({
      {ignorable | 77, "future"},
      {1,              ""      }
  });
  Seen seen;
  ASSERT_TRUE(bytes.decode(seen));
  EXPECT_EQ(seen.sends[0].body, "hello");
  EXPECT_TRUE(seen.sends[0].head.content.replayed) << "those that are known are read";
  ASSERT_EQ(seen.unknowns.size(), 1u);
  EXPECT_FALSE(seen.unknowns[0].critical);
  // Relocation keeps the extension: a newer version finds it again.
  const std::size_t length = record_length(bytes.memory.data());
  Bytes moved;
  moved.add(encode_relocated(moved.at(), bytes.span().first(length), stream));
  Seen again;
  ASSERT_TRUE(moved.decode(again));
  EXPECT_TRUE(again.sends[0].head.relocated);
  EXPECT_EQ(again.sends[0].head.passed_over, 1u);
  EXPECT_EQ(std::memcmp(moved.memory.data() + 12, bytes.memory.data() + 12, length - 12), 0);
}

TEST(SendRecords, AProducerTakesTwentyTwoBytesAndHasAnIdAndASequence) {
  const std::string_view zeros(
      "\0\0\0\0\0\0\0\0"
      "\0\0\0\0\0\0\0\0",
      16);
  constexpr struct {
    const char* name;
    std::string_view bytes;
    Errc want;
  } cases[] = {
      {"both",          "idididid12345678",  Errc::ok     },
      {"one byte less", "idididid1234567",   Errc::version},
      {"one byte more", "idididid123456789", Errc::version},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    Seen seen;
    const auto read = with_extensions({
                                          {2, c.bytes}
    })
                          .decode(seen);
    EXPECT_EQ(read ? Errc::ok : read.error().code, c.want);
  }
  Seen seen;
  EXPECT_EQ(with_extensions({
                                {2, zeros}
  })
                .decode(seen)
                .error()
                .code,
            Errc::corrupt);
  Content content{.body = "01234567"};
  SendRecord record{QueueId{3}, 9, Instant{1000}, Instant{1000}, &content};
  const std::size_t without = send_bytes(record);
  record.producer = {1, 1};
  EXPECT_LE(send_bytes(record), align_record(without + 22));
}

TEST(SendRecords, ADeliveryTimeHasOneOfItsTwoBits) {
  const std::pair<std::string, Errc> cases[] = {
      {"\x01", Errc::ok},
      {"\x03", Errc::ok},
      {std::string(1, 0), Errc::corrupt},
      {"\x04", Errc::corrupt},
      {"\x01\x01", Errc::version},
  };
  for (const auto& [bits, want] : cases) {
    Seen seen;
    const auto read = with_extensions({
                                          {4, bits}
    })
                          .decode(seen);
    EXPECT_EQ(read ? Errc::ok : read.error().code, want) << bits.size();
  }
}

TEST(SendRecords, ACriticalExtensionStopsTheReadingAndIsNamed) {
  const Bytes bytes = with_extensions({
      {77, "future"}
  });
  Seen seen;
  const auto read = bytes.decode(seen);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::version);
  ASSERT_EQ(seen.unknowns.size(), 1u);
  EXPECT_TRUE(seen.unknowns[0].critical);
  EXPECT_EQ(seen.unknowns[0].value, 77u);
  EXPECT_EQ(name_of(seen.unknowns[0].kind), "extension");
  EXPECT_EQ(decode_send(bytes.span(), stream).error().code, Errc::version);
}

TEST(SendRecordsDeathTest, ATrustedPositionThatIsNoSendIsOurMistake) {
  Bytes bytes;
  bytes.add(encode_purge(bytes.at(), {QueueId{1}, 2, Instant{3}}, stream));
  EXPECT_DEATH(trusted_send(bytes.memory.data()), "type");
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "wal/format/records.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "tests/wal/records_fixture.h"

namespace pawl {
namespace {

using namespace records_test;

TEST(Records, OffsetsPointAtTheRecord) {
  Bytes bytes = one_send("first");
  const std::size_t second = bytes.used;
  Content content;
  content.body = "second";
  bytes.add(
      encode_send(bytes.at(), {QueueId{3}, 10, Instant{1000}, Instant{1000}, &content}, stream));
  Seen seen;
  ASSERT_TRUE(bytes.decode(seen));
  ASSERT_EQ(seen.sends.size(), 2u);
  EXPECT_EQ(seen.sends[0].offset, 0u);
  EXPECT_EQ(seen.sends[1].offset, second);
  EXPECT_EQ(trusted_send(bytes.memory.data() + second).content.body, "second");
}

TEST(Records, EveryFlippedBitIsNoticed) {
  const Bytes good = one_send("a body of some length");
  const std::size_t length = 28 + 21;  // without the padding, which the frame's hash covers
  for (std::size_t i = 0; i < length * 8; ++i) {
    Bytes bad = good;
    bad.memory[i / 8] ^= static_cast<std::byte>(1 << (i % 8));
    Seen seen;
    EXPECT_FALSE(bad.decode(seen)) << "bit " << i;
    EXPECT_TRUE(seen.sends.empty());
  }
}

TEST(Records, EveryTruncationIsNoticed) {
  const Bytes good = one_send("a body of some length");
  for (std::size_t n = 0; n < 28 + 21; ++n) {
    Seen seen;
    const auto read = decode_records(good.span().first(n), 1, stream, seen);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, Errc::corrupt);
  }
}

TEST(Records, AnotherLogsRecordIsNotOurs) {
  Seen seen;
  const Bytes bytes = one_send();
  EXPECT_FALSE(decode_records(bytes.span(), 1, stream + 1, seen));
}

// A record with a changed head and a matching hash.
Bytes forged(std::size_t offset, std::uint8_t value) {
  Bytes bytes = one_send();
  bytes.memory[offset] = std::byte{value};
  rehash(bytes, 28 + 5);
  return bytes;
}

TEST(Records, WhatANewerVersionWroteIsCalledThat) {
  struct Case {
    const char* name;
    std::size_t offset;
    std::uint8_t value;
    Errc want;
  };
  constexpr Case cases[] = {
      {"unchanged",                0, 1,   Errc::ok     },
      {"a type of the future",     0, 99,  Errc::version},
      {"a reserved type",          0, 17,  Errc::version},
      {"a flag of the future",     1, 2,   Errc::version},
      {"it may be ignored",        1, 1,   Errc::ok     },
      {"an expiry",                3, 8,   Errc::version},
      {"extensions that are none", 3, 128, Errc::corrupt},
      {"the body of another type", 0, 4,   Errc::corrupt},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Seen seen;
    const auto read = forged(c.offset, c.value).decode(seen);
    EXPECT_EQ(read ? Errc::ok : read.error().code, c.want);
  }
}

TEST(Records, OfATypeNobodyKnowsTheFlagDecides) {
  for (const bool may_be_ignored : {false, true}) {
    Bytes bytes = forged(0, 200);
    bytes.memory[1] = std::byte{may_be_ignored};
    rehash(bytes, 28 + 5);
    Seen seen;
    EXPECT_EQ(bytes.decode(seen).has_value(), may_be_ignored);
    ASSERT_EQ(seen.unknowns.size(), 1u);
    EXPECT_EQ(seen.unknowns[0].critical, !may_be_ignored);
    EXPECT_EQ(seen.unknowns[0].value, 200u);
    EXPECT_EQ(name_of(seen.unknowns[0].kind), "record type");
  }
}

TEST(Records, MoreOrFewerRecordsThanTheFrameSaysIsDamage) {
  Bytes bytes = one_send();
  Seen seen;
  for (const std::uint32_t count : {0u, 2u}) {
    const auto read = decode_records(bytes.span(), count, stream, seen);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, Errc::corrupt);
  }
}

// Random bodies behind a valid head and hash: the decoders of all types must not read outside.
TEST(Records, NonsenseNeverReadsOutside) {
  Random random(1);
  std::array<int, static_cast<std::size_t>(last_record_type) + 1> decoded{};
  for (int round = 0; round < 50'000; ++round) {
    const std::size_t length = 12 + random.below(80);
    const bool sparse = random.chance();  // mostly zeros: some of these records are valid
    std::vector<std::byte> bytes(length);
    for (std::byte& b : bytes) {
      const bool small = random.chance();
      if (!sparse || random.below(8) == 0)
        b = static_cast<std::byte>(small ? random.below(4) : random.below(256));
    }
    bytes[0] =
        static_cast<std::byte>(1 + random.below(static_cast<std::uint64_t>(last_record_type)));
    bytes[1] = std::byte{0};
    const auto type = static_cast<RecordType>(bytes[0]);
    const unsigned known = type == RecordType::send     ? known_fields
                           : type == RecordType::heads  ? heads_reserved
                           : type == RecordType::replay ? replay_progress | replay_of_copies
                                                        : 0u;
    const auto fields = static_cast<std::uint16_t>(random.any() & known);
    std::memcpy(bytes.data() + 2, &fields, 2);
    const auto told = static_cast<std::uint32_t>(length);
    std::memcpy(bytes.data() + 4, &told, 4);
    std::uint64_t first;
    std::memcpy(&first, bytes.data(), 8);
    const auto hash =
        static_cast<std::uint32_t>(hash_bytes({bytes.data() + 12, length - 12}, stream ^ first));
    std::memcpy(bytes.data() + 8, &hash, 4);
    Seen seen;
    const auto read = decode_records(bytes, 1, stream, seen);
    EXPECT_TRUE(read || read.error().code == Errc::corrupt || read.error().code == Errc::version);
    if (read) {
      ++decoded[static_cast<std::size_t>(type)];
      EXPECT_LE(seen.deletes.size() + seen.receives.size() + seen.heads.size(), length);
    }
  }
  for (std::size_t type = 1; type < decoded.size(); ++type) {
    if (type == reserved_record_type) continue;
    EXPECT_GT(decoded[type], 0) << "type " << type << ": no record was read";
  }
}

}  // namespace
}  // namespace pawl
